/** Real worker processes under a real supervisor, started as an operator would, and the means to kill them. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export class Fleet {
  #supervisor: ChildProcess | undefined

  constructor(private readonly env: NodeJS.ProcessEnv, private readonly logPath: string) {}

  start(): void {
    const log = createWriteStream(this.logPath, { flags: 'a' })
    const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve('@pawl/worker/main'))], { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout?.pipe(log)
    child.stderr?.pipe(log)
    this.#supervisor = child
  }

  get isRunning(): boolean {
    return this.#supervisor?.exitCode === null && this.#supervisor.signalCode === null
  }

  /** SIGKILL for the supervisor and every worker named. */
  async killAll(workerPids: readonly number[]): Promise<void> {
    const supervisor = this.#supervisor
    const ended = new Promise<void>((resolve) => { if (supervisor) supervisor.once('exit', () => resolve()); else resolve() })
    supervisor?.kill('SIGKILL')
    for (const pid of workerPids) kill(pid)
    await ended
  }

  /** As a deploy does it. */
  async stop(): Promise<void> {
    const supervisor = this.#supervisor
    if (!supervisor || !this.isRunning) return
    const ended = new Promise<void>((resolve) => supervisor.once('exit', () => resolve()))
    supervisor.kill('SIGTERM')
    await ended
  }
}

export function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL')
    return true
  } catch {
    return false
  }
}

/** The embedded server itself, below every connection. */
export function killPostgres(folder: string): void {
  const pid = Number(readFileSync(join(folder, 'pg', 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`no server runs in ${folder}`)
  process.kill(pid, 'SIGKILL')
}
