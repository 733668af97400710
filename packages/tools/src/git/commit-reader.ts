/** Reads commits through one `git cat-file --batch` child that is kept: a process per look would cost more than the commit. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import type { Socket } from 'node:net'
import { gitEnvironment } from './run-git.ts'

export interface RawCommit {
  readonly parents: readonly string[]
  readonly message: string
}

interface Waiting {
  readonly resolve: (commit: RawCommit | undefined) => void
  readonly reject: (error: Error) => void
}

export class CommitReader {
  #child: ChildProcessWithoutNullStreams | undefined
  #buffer: Buffer = Buffer.alloc(0)
  readonly #waiting: Waiting[] = []

  constructor(readonly repo: string) {}

  /** Undefined: there is no such commit here. */
  read(commit: string): Promise<RawCommit | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      const child = this.#child ?? this.#start()
      this.#hold(child, true)
      child.stdin.write(`${commit}\n`)
    })
  }

  #start(): ChildProcessWithoutNullStreams {
    const child = spawn('git', ['cat-file', '--batch'], { cwd: this.repo, env: gitEnvironment() })
    const gone = (error: Error) => {
      if (this.#child !== child) return
      this.#child = undefined
      this.#buffer = Buffer.alloc(0)
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    child.stdin.on('error', () => {})
    child.stderr.resume()
    child.on('error', gone)
    child.on('close', () => gone(new Error('git cat-file ended.')))
    child.stdout.on('data', (chunk: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, chunk])
      this.#answer()
      if (this.#waiting.length === 0) this.#hold(child, false)
    })
    this.#child = child
    return child
  }

  /** An idle child must not keep the process alive. It ends by itself when its stdin closes with us. */
  #hold(child: ChildProcessWithoutNullStreams, isHeld: boolean): void {
    const handles = [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]
    for (const handle of handles) {
      if (isHeld) handle.ref()
      else handle.unref()
    }
  }

  #answer(): void {
    for (;;) {
      const end = this.#buffer.indexOf('\n')
      if (end < 0) return
      const [, type, size] = this.#buffer.toString('utf8', 0, end).split(' ')
      const length = type === 'missing' ? -1 : Number(size)
      if (this.#buffer.length < end + 1 + length + 1) return
      const body = length < 0 ? '' : this.#buffer.toString('utf8', end + 1, end + 1 + length)
      this.#buffer = this.#buffer.subarray(end + 1 + length + 1)
      this.#waiting.shift()?.resolve(type === 'commit' ? parseCommit(body) : undefined)
    }
  }
}

function parseCommit(body: string): RawCommit {
  const split = body.indexOf('\n\n')
  const parents = body.slice(0, split).split('\n').filter((line) => line.startsWith('parent ')).map((line) => line.slice(7))
  return { parents, message: body.slice(split + 2) }
}
