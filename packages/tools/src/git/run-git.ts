/** One git child process. Output as text; a failure is an error with git's own words. */
import { spawn } from 'node:child_process'

export interface GitRun {
  readonly repo: string
  readonly args: readonly string[]
  readonly input?: string | Buffer
  readonly signal?: AbortSignal
}

export class GitFailed extends Error {
  override readonly name = 'GitFailed'
  constructor(readonly args: readonly string[], readonly exitCode: number | null, readonly stderr: string) {
    super(`git ${args.find((arg, n) => !arg.startsWith('-') && args[n - 1] !== '-c') ?? ''} ${exitCode === null ? 'was ended by a signal' : `failed (${exitCode})`}: ${stderr.trim().slice(-1_000) || 'no message'}`)
  }
}

/** For what stores objects or moves a ref: what was reported as committed must survive a power cut, too. */
export const durable = ['-c', 'core.fsync=loose-object,pack,pack-metadata,reference'] as const

/** Variables of a surrounding git (a hook, a rebase) must not redirect ours; nobody is there to answer a prompt. */
export function gitEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|COMMON_DIR|PREFIX|NAMESPACE)$/.test(name))
  return { ...Object.fromEntries(inherited), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' }
}

export function runGit({ repo, args, input, signal }: GitRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-c', 'core.quotepath=off', ...args], { cwd: repo, env: gitEnvironment(), ...(signal ? { signal } : {}) })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    // EPIPE only says that git ended early; its exit code and message say why.
    child.stdin.on('error', () => {})
    child.on('error', reject)
    child.on('close', (exitCode) => {
      if (exitCode === 0) resolve(Buffer.concat(out).toString('utf8'))
      else reject(new GitFailed(args, exitCode, Buffer.concat(err).toString('utf8')))
    })
    child.stdin.end(input ?? '')
  })
}
