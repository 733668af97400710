/** Files into git's object store. While one `git hash-object` is under way the next files gather, so that many calls share one process. */
import { durable, runGit } from './run-git.ts'

interface Waiting {
  readonly path: string
  readonly resolve: (blob: string) => void
  readonly reject: (error: unknown) => void
}

export class BlobWriter {
  #waiting: Waiting[] = []
  #isRunning = false

  constructor(readonly root: string) {}

  /** The blob of a regular file of the worktree, git's own filters applied. */
  write(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ path, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // The calls of this turn of the loop go along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      const blobs = await this.#hash(batch).catch(() => undefined)
      if (blobs) for (const [n, { resolve }] of batch.entries()) resolve(blobs[n] ?? '')
      else await this.#oneByOne(batch)
    }
    this.#isRunning = false
  }

  /** One of them cannot be read: the others must not suffer for it. */
  async #oneByOne(batch: readonly Waiting[]): Promise<void> {
    for (const waiting of batch) await this.#hash([waiting]).then(([blob]) => waiting.resolve(blob ?? ''), waiting.reject)
  }

  async #hash(batch: readonly Waiting[]): Promise<string[]> {
    const input = batch.map(({ path }) => `${path}\n`).join('')
    const blobs = (await runGit({ repo: this.root, args: [...durable, 'hash-object', '-w', '--stdin-paths'], input })).trim().split('\n')
    if (blobs.length !== batch.length) throw new Error('git hash-object answered for another number of files.')
    return blobs
  }
}
