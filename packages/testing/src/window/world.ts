/**
 * What the browser tests and the screenshots look at: a ledger, a producer, a fleet of real worker processes and a receiver that counts. Workers are
 * killed with SIGKILL for as long as it is asked for; what waits for a person is brought about by agents that do what such agents do, never by hand.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient, type PawlClient, type StartOptions } from '@pawl/client'
import { dispatchRun } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { startEffectsServer, type EffectsServer } from '../effects-server.ts'
import { signalWorker, WorkerFleet } from '../processes/worker-fleet.ts'
import { shortTimings } from '../virtual-workers.ts'
import { OwnProducer } from './own-producer.ts'
import { removeMark, setMark, type WindowPlace } from './place.ts'

const config = fileURLToPath(new URL('../../dist/window/config.js', import.meta.url))
const timings = { ...shortTimings, sweepEveryMs: 250, versionGraceMs: 500 }

export interface WorldOptions {
  /** An empty database. */
  readonly url: string
  readonly queue: { readonly backend: 'redis' | 'postgres'; readonly url: string }
  readonly processes?: number
}

export class World {
  #killer: Promise<void> | undefined
  #isKilling = false
  /** Workers killed so far. */
  kills = 0

  private constructor(
    private readonly processes: number, readonly ledger: Ledger, readonly queue: Queue, readonly ledgerId: string, readonly effects: EffectsServer,
    /** The ledger, straight: what every page must agree with. */
    readonly direct: PawlClient,
    readonly producer: OwnProducer, private readonly fleet: WorkerFleet, private readonly folder: string, readonly log: readonly string[],
  ) {}

  static async open(options: WorldOptions): Promise<World> {
    const { processes = 2 } = options
    const ledger = new Ledger({ url: options.url, name: 'browser tests', connections: 4 })
    await migrateLedger(ledger)
    const { id } = await readIdentity(ledger)
    const queue = connectQueue({ ...options.queue, ledgerId: id, onError: () => undefined })
    await queue.ready()
    const effects = await startEffectsServer()
    const folder = mkdtempSync(join(tmpdir(), 'pawl-window-'))
    const place: WindowPlace = { effectsUrl: effects.url, folder }
    const env = {
      DATABASE_URL: options.url, PAWL_QUEUE: options.queue.backend, REDIS_URL: options.queue.backend === 'redis' ? options.queue.url : '', PAWL_WINDOW: JSON.stringify(place), PAWL_CONFIG: config,
    }
    const producer = await OwnProducer.start(env)
    const log: string[] = []
    const fleet = WorkerFleet.start({
      config, onLog: (line) => void (log.push(line) > 2_000 && log.splice(0, 1_000)),
      env: { ...env, PAWL_PROCESSES: String(processes), PAWL_CONCURRENCY: '10', PAWL_TIMINGS: JSON.stringify(timings), PAWL_LOG_LEVEL: 'info', PAWL_WORKER_PORT: '', NODE_ENV: 'test' },
    })
    // Without agents: also versions that nobody here has can be started.
    const direct = createClient({ ledger, actor: 'shop', dispatch: (runId) => dispatchRun({ ledger, queue, ledgerId: id }, runId) })
    return new World(processes, ledger, queue, id, effects, direct, producer, fleet, folder, log)
  }

  mark(name: string): void {
    setMark(this.folder, name)
  }

  unmark(name: string): void {
    removeMark(this.folder, name)
  }

  async start(agent: string, version: string, items: readonly { readonly key: string; readonly payload: unknown }[], input: unknown, options: Omit<StartOptions, 'items' | 'version'> = {}): Promise<string> {
    return (await this.direct.startRun(agent, input, { ...options, version, items })).id
  }

  /** SIGKILL for one worker process after the other, for as long as `stopKilling` is not called; each only when the fleet is whole again, however slow the machine starts processes. */
  startKilling(everyMs = 2_500): void {
    if (this.#isKilling) return
    this.#isKilling = true
    this.#killer = this.#kill(everyMs)
  }

  async stopKilling(): Promise<void> {
    this.#isKilling = false
    await this.#killer
  }

  async #kill(everyMs: number): Promise<void> {
    for (let n = 0; this.#isKilling; n++) {
      const workers = await this.ledger.query<{ id: string; pid: number }>(`select id, pid from pawl.workers where name like 'worker-%' order by name, id`).catch(() => [])
      const worker = workers.length >= this.processes ? workers[n % workers.length] : undefined
      if (worker && signalWorker(worker, 'SIGKILL')) this.kills++
      await new Promise((resolve) => setTimeout(resolve, worker ? everyMs : 250))
    }
  }

  /** Resolves with the first answer of `look` that is not undefined; what it waited for is said when it does not come. */
  async until<T>(what: string, look: () => Promise<T | undefined>, withinMs = 120_000): Promise<T> {
    const end = Date.now() + withinMs
    for (;;) {
      const found = await look()
      if (found !== undefined) return found
      if (Date.now() > end) throw new Error(`not within ${withinMs / 1_000} s: ${what}. The workers last said:\n${this.log.slice(-8).join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  }

  async close(): Promise<void> {
    await this.stopKilling()
    await this.fleet.stop()
    await this.producer.stop()
    await this.effects.close()
    await this.queue.close()
    await this.ledger.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
