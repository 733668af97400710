/** One fleet of real processes with everything around it: a ledger, a queue, receivers, a person, and a witness that sees what the database sees. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dispatchRun } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { Chance } from '../chaos/chance.ts'
import { Observer } from '../chaos/observer.ts'
import { Person } from '../chaos/person.ts'
import { Receiver } from '../chaos/receiver.ts'
import { RunWatch } from '../chaos/run-watch.ts'
import { Tally } from '../chaos/tally.ts'
import { shortTimings } from '../virtual-workers.ts'
import { resumedFile, tallyFile, type ChaosPlace } from './chaos-place.ts'
import { addFileTally } from './file-tally.ts'
import { countKeptSends } from './kept-sends.ts'
import type { Killed } from './resume.ts'
import { Witness, type SeenRow } from './witness.ts'
import { WorkerFleet } from './worker-fleet.ts'

export const timings = { ...shortTimings, sweepEveryMs: 200 }

const signs = ['Missing lock', 'could not renew lock'] as const

export interface QueuePlace {
  readonly backend: 'redis' | 'postgres'
  readonly url: string
}

export interface StageOptions {
  /** An empty database. */
  readonly url: string
  readonly queue: QueuePlace
  readonly seed: number
  readonly processes: number
  /** Items one process works on at once. */
  readonly concurrency: number
  /** How long a run may take. */
  readonly deadlineMs: number
  /** More for the workers' environment. */
  readonly env?: Readonly<Record<string, string>>
}

export interface LiveWorker extends Record<string, unknown> {
  readonly id: string
  readonly pid: number
  readonly held: number
  /** Calls whose intent is durable and whose outcome is not. */
  readonly in_flight: number
}

export class Stage {
  readonly #signs = new Map<string, number>()
  #closed: Promise<void> | undefined

  private constructor(
    readonly options: StageOptions, readonly chance: Chance, readonly tally: Tally, readonly observer: Observer, readonly ledger: Ledger, readonly queue: Queue, readonly ledgerId: string,
    readonly effects: Receiver, readonly person: Person, readonly watch: RunWatch, readonly witness: Witness, readonly folder: string, readonly log: string[],
  ) {}

  #fleet: WorkerFleet | undefined

  static async open(options: StageOptions): Promise<Stage> {
    const chance = new Chance(options.seed)
    const tally = new Tally()
    const observer = new Observer(tally)
    const ledger = new Ledger({ url: options.url, name: 'chaos control', connections: 4, statementTimeoutMs: 120_000, deadlineMs: 125_000 })
    await migrateLedger(ledger)
    await ledger.query('create table effects (op text, subject text)')
    const { id } = await readIdentity(ledger)
    const queue = connectQueue({ ...options.queue, ledgerId: id, onError: () => {} })
    await queue.ready()
    const effects = await Receiver.start()
    const witness = await Witness.open(ledger, observer)
    const touch = (runId: string): void => void dispatchRun({ ledger, queue, ledgerId: id }, runId).catch(() => {})
    const person = new Person({ ledger, effects, observer, tally, touch })
    const folder = mkdtempSync(join(tmpdir(), 'pawl-processes-'))
    return new Stage(options, chance, tally, observer, ledger, queue, id, effects, person, new RunWatch(ledger, options.deadlineMs), witness, folder, [])
  }

  /** The supervisor and its workers; `failpoints` as `PAWL_FAILPOINTS` wants them. */
  startFleet(failpoints?: string): WorkerFleet {
    const { url, queue, seed, processes, concurrency, env } = this.options
    const place: ChaosPlace = { seed, effectsUrl: this.effects.url, folder: this.folder }
    return this.#fleet = WorkerFleet.start({
      onLog: (line) => this.#take(line),
      env: {
        DATABASE_URL: url, PAWL_QUEUE: queue.backend, REDIS_URL: queue.backend === 'redis' ? queue.url : '', PAWL_PROCESSES: String(processes), PAWL_CONCURRENCY: String(concurrency),
        PAWL_TIMINGS: JSON.stringify(timings), PAWL_LOG_LEVEL: 'info', NODE_ENV: 'test', PAWL_CHAOS: JSON.stringify(place), PAWL_WORKER_PORT: '',
        ...(failpoints === undefined ? {} : { PAWL_FAILPOINTS: failpoints, PAWL_FAILPOINTS_SPENT: this.folder }), ...env,
      },
    })
  }

  #take(line: string): void {
    this.log.push(line)
    if (this.log.length > 2_000) this.log.splice(0, 1_000)
    if (line.includes('"deduplicated')) this.tally.count('sharedKeys')
    for (const sign of signs) if (line.includes(sign)) this.#signs.set(sign, (this.#signs.get(sign) ?? 0) + 1)
  }

  /** How many lines of the workers' logs had it. */
  logged(sign: (typeof signs)[number]): number {
    return this.#signs.get(sign) ?? 0
  }

  touch(runId: string): void {
    void dispatchRun({ ledger: this.ledger, queue: this.queue, ledgerId: this.ledgerId }, runId).catch(() => {})
  }

  markResumed(n: number): void {
    writeFileSync(resumedFile(this.folder, n), '')
  }

  /** Workers that are registered, with what they are at. */
  async liveWorkers(): Promise<readonly LiveWorker[]> {
    return await this.ledger.query<LiveWorker>(`select w.id, w.pid,
      (select count(*) from pawl.items i where i.status = 'in_progress' and i.worker_id = w.id)::integer as held,
      (select count(*) from pawl.items i join pawl.actions a on a.run_id = i.run_id and a.item_seq = i.seq and a.status = 'started' where i.status = 'in_progress' and i.worker_id = w.id)::integer as in_flight
      from pawl.workers w where w.name like 'worker-%' order by w.name, w.id`)
  }

  /** Nothing is live in the ledger. False: it was not within the deadline. */
  async quiet(deadlineMs: number): Promise<boolean> {
    const until = Date.now() + deadlineMs
    for (;;) {
      const [row] = await this.ledger.query<{ live: boolean }>(`select exists (select 1 from pawl.items where status in ('pending', 'in_progress', 'blocked')) as live`)
      if (!(row?.live ?? true)) return true
      if (Date.now() > until) return false
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** How many of the queue's kept jobs were taken from a worker that had let their lock run out. */
  async countStalls(): Promise<number> {
    let stalls = 0
    for (const { name } of await this.queue.names()) {
      const jobs = await this.queue.boardQueue(name).getJobs(['completed', 'failed'], 0, 10_000)
      for (const job of jobs) stalls += job?.stalledCounter ?? 0
    }
    return stalls
  }

  /** Everything the witness saw; what of it has to have happened is counted. Once, when everything has ended. */
  async seen(strikes: readonly Killed[]): Promise<readonly SeenRow[]> {
    const rows = await this.witness.all()
    const { staged, approvedAfterTakeover } = countKeptSends(rows, strikes)
    this.tally.count('stagedSends', staged)
    this.tally.count('approvalsAfterTakeover', approvedAfterTakeover)
    return rows
  }

  /** Ends the fleet, adds what it counted to what was counted here, and lets go of everything. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    await this.#fleet?.stop()
    addFileTally(tallyFile(this.folder), this.tally)
    this.person.close()
    this.watch.close()
    this.witness.close()
    this.effects.close()
    await this.queue.close()
    await this.ledger.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
