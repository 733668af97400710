/**
 * A supervisor and its worker processes, as they run in production, started again when they are gone. Signals reach only processes that prove to be
 * this fleet's: a pid out of a table may be somebody else's by now.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PawlError } from '@pawl/core'

/** The built ones, also when this file is not: the supervisor forks what lies beside it. */
const workerProgram = fileURLToPath(new URL('../../../../apps/worker/dist/main.js', import.meta.url))
const workerConfig = fileURLToPath(new URL('../../dist/processes/worker-config.js', import.meta.url))

export interface WorkerFleetOptions {
  readonly env: Readonly<Record<string, string>>
  /** The built `pawl.config` of its workers. Default: the chaos agents'. */
  readonly config?: string
  /** One line of a supervisor's or worker's log. */
  readonly onLog: (line: string) => void
}

export class WorkerFleet {
  #supervisor: ChildProcess | undefined
  #isStopping = false
  /** Its workers end with it, and it ends with us. */
  readonly #end = (): void => void this.#supervisor?.kill('SIGKILL')

  private constructor(private readonly options: WorkerFleetOptions) {}

  static start(options: WorkerFleetOptions): WorkerFleet {
    for (const file of [workerProgram, options.config ?? workerConfig]) if (!existsSync(file)) throw new PawlError('NOT_BUILT', `${file} is missing. Run "npm run build" first: these are real processes of the built worker.`, 'crash')
    const fleet = new WorkerFleet(options)
    process.once('exit', fleet.#end)
    fleet.#begin()
    return fleet
  }

  #begin(): void {
    const supervisor = spawn(process.execPath, [workerProgram], { env: { ...process.env, PAWL_CONFIG: this.options.config ?? workerConfig, ...this.options.env }, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#supervisor = supervisor
    createInterface({ input: supervisor.stderr }).on('line', this.options.onLog)
    supervisor.once('exit', (code) => {
      if (this.#isStopping) return
      if (code !== null && code !== 0) this.options.onLog(`the supervisor ended with ${code}`)
      this.#begin()
    })
  }

  get supervisorPid(): number | undefined {
    return this.#supervisor?.pid
  }

  killSupervisor(): void {
    this.#supervisor?.kill('SIGKILL')
  }

  /** Hands everything back and ends, and kills what does not. */
  async stop(graceMs = 15_000): Promise<void> {
    this.#isStopping = true
    process.off('exit', this.#end)
    const supervisor = this.#supervisor
    if (!supervisor || supervisor.exitCode !== null || supervisor.signalCode !== null) return
    const ended = new Promise<void>((resolve) => supervisor.once('exit', () => resolve()))
    supervisor.kill('SIGTERM')
    const timer = setTimeout(this.#end, graceMs)
    await ended
    clearTimeout(timer)
  }
}

/** False: it is gone, or it is not this worker's process. */
export function signalWorker(worker: { readonly id: string; readonly pid: number }, signal: NodeJS.Signals): boolean {
  try {
    if (!readFileSync(`/proc/${worker.pid}/environ`, 'latin1').includes(`PAWL_WORKER_ID=${worker.id}`)) return false
    return process.kill(worker.pid, signal)
  } catch {
    return false
  }
}
