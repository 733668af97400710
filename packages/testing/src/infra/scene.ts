/** One scenario's world: a ledger of its own, workers that reach Postgres and Redis through the doors, a receiver in its own process, runs to be finished. */
import { Harness, defaultTimings, type AnyAgent, type Log, type Timings } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity, readRun } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { beginRun } from '../chaos/begin-run.ts'
import { chaosTools } from '../chaos/chaos-tools.ts'
import { judge, type Judgement } from '../chaos/judge.ts'
import { Receiver } from '../chaos/receiver.ts'
import { Tally } from '../chaos/tally.ts'
import { shortTimings } from '../virtual-workers.ts'
import { Doubts } from './doubts.ts'
import type { Ground } from './ground.ts'
import { loadAgent, planLoad, usualLoad, type LoadOptions } from './load.ts'

export type Backend = 'redis' | 'postgres'

export interface SceneOptions {
  readonly queue: Backend
  readonly load?: Partial<LoadOptions>
  readonly timings?: Partial<Timings>
}

const workerCount = 3
/** Attempts at once of each worker. */
const concurrencies = { literal: 70, fast: 25 } as const
/** Long enough that a busy machine does not lose them by itself, and with them whatever was to be shown. */
const fastTimings: Partial<Timings> = { ...shortTimings, leaseMs: 5_000, renewEveryMs: 1_000, sendWindowMs: 2_000, sweepEveryMs: 200, sweeperLeaseMs: 3_000, undeliveredAfterMs: 3_000 }
/** Workers have to be at work again this soon after a service is back, without a restart. */
const resumeWithinMs = 30_000
const endDeadlineMs = 240_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const liveRuns = `('splitting', 'running', 'finalizing', 'compensating')`

interface Worker {
  readonly harness: Harness
  readonly ledger: Ledger
  readonly queue: Queue
}

export class Scene {
  readonly load: LoadOptions
  readonly doubts: Doubts
  readonly problems: string[] = []
  /** What the workers warned of, without what differs from line to line, and how often. */
  readonly warned = new Map<string, number>()
  readonly #agent: AnyAgent
  readonly #timings: Partial<Timings>
  readonly #runs: { n: number; runId: string }[] = []
  readonly #workers: Worker[] = []
  /** By worker, how many items it has claimed. */
  readonly #claims: number[] = []

  private constructor(
    readonly ground: Ground, readonly options: SceneOptions, private readonly url: string,
    /** Past the doors: it sees what is there whatever the workers see. */
    readonly side: Ledger,
    private readonly ledgerId: string, private readonly effects: Receiver,
  ) {
    this.load = { ...usualLoad, ...options.load }
    this.#agent = loadAgent(ground.chance, this.load, chaosTools({ effects, chance: ground.chance, tally: new Tally() }))
    this.doubts = new Doubts(side, effects)
    this.#timings = { ...(this.#isFast ? fastTimings : defaultTimings), ...options.timings }
  }

  static async open(ground: Ground, options: SceneOptions): Promise<Scene> {
    const urls = await ground.createDatabase()
    const side = new Ledger({ url: urls.side, name: 'infra side', connections: 3, statementTimeoutMs: 120_000, deadlineMs: 125_000 })
    await migrateLedger(side)
    await side.query('create table effects (op text, subject text)')
    const { id } = await readIdentity(side)
    return new Scene(ground, options, urls.workers, side, id, await Receiver.start())
  }

  /** @param serving only `splits`: it splits, sweeps and rings, and takes no other item. */
  async startWorkers(count = workerCount, serving: 'all' | 'splits' = 'all'): Promise<void> {
    for (let i = 0; i < count; i++) {
      const which = this.#workers.length
      this.#claims.push(0)
      const ledger = new Ledger({ url: this.url, name: `infra worker ${which}`, connections: 4 })
      const queue = this.#connect()
      const harness = await Harness.start({
        ledger, queue, agents: [this.#agent], concurrency: this.#concurrency, roles: serving === 'all' ? ['items', 'splits'] : ['splits'], name: `infra-${which}`, timings: this.#timings,
        log: (level, line) => this.#hear(level, line),
        failpoint: (name) => { if (name === 'after-claim') this.#claims[which] = (this.#claims[which] ?? 0) + 1 },
      })
      this.#workers.push({ harness, ledger, queue })
    }
  }

  get #isFast(): boolean {
    return this.ground.options.scale < 1
  }

  get #concurrency(): number {
    return this.#isFast ? concurrencies.fast : concurrencies.literal
  }

  #hear(level: Parameters<Log>[0], line: string): void {
    if (level !== 'warn' && level !== 'error') return
    const kind = `${level}: ${line.replaceAll(/[0-9a-f-]{8,}|\d+/gi, '#').slice(0, 200)}`
    this.warned.set(kind, (this.warned.get(kind) ?? 0) + 1)
  }

  #connect(): Queue {
    const url = this.options.queue === 'redis' ? this.ground.redisDoor.url : this.url
    return connectQueue({ backend: this.options.queue, url, ledgerId: this.ledgerId, onError: () => {} })
  }

  /** What the items' queue holds now; nothing where the store does not answer. */
  async jobs(): Promise<{ waiting: number }> {
    const { queue } = this.#workers[0] ?? {}
    try {
      const name = (await queue?.names())?.find((one) => one.channel?.kind === 'agent')?.name
      if (queue === undefined || name === undefined) return { waiting: 0 }
      const { waiting = 0, prioritized = 0 } = await queue.boardQueue(name).getJobCounts('waiting', 'prioritized')
      return { waiting: waiting + prioritized }
    } catch {
      return { waiting: 0 }
    }
  }

  /** A run is accepted, as a client would have it: a ledger that is away is asked again, with the same run. */
  async beginRun(): Promise<void> {
    const n = this.#runs.length
    let id = ''
    for (let isThere = false; !isThere;) {
      isThere = await beginRun(this.side, this.#agent, { n }, null, {}, (named) => { id = named }).then(() => true, async () => (await this.patiently(() => readRun(this.side, id))) !== undefined)
    }
    this.#runs.push({ n, runId: id })
    this.#workers[n % Math.max(1, this.#workers.length)]?.harness.touch(id)
  }

  /** Asks the ledger until it answers. */
  async patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (const until = Date.now() + endDeadlineMs; ;) {
      try {
        return await ask()
      } catch (error) {
        if (Date.now() > until) throw error
        await pause(200)
      }
    }
  }

  async #count(text: string): Promise<number> {
    const [row] = await this.patiently(() => this.side.query<{ n: number }>(text))
    return row?.n ?? 0
  }

  /** Work items that are not at their end. */
  async live(): Promise<number> {
    return await this.#count(`select count(*)::integer as n from pawl.items where kind = 'work' and status in ('pending', 'in_progress', 'blocked')`)
  }

  /** Begins runs until so many items are live and known to the ledger. */
  async topUp(live: number): Promise<void> {
    for (let have = await this.live(); have < live; have = await this.live()) {
      const runs = Math.ceil((live - have) / this.load.itemsPerRun)
      for (let i = 0; i < runs; i++) await this.beginRun()
      const until = Date.now() + endDeadlineMs
      while ((await this.#count(`select count(*)::integer as n from pawl.runs where status = 'splitting'`)) > 0) {
        if (Date.now() > until) throw new Error(`a run is still being split after ${endDeadlineMs} ms`)
        await pause(50)
      }
    }
  }

  get claims(): number {
    return this.#claims.reduce((sum, n) => sum + n, 0)
  }

  /** Waits until every worker has claimed something since now; there is work for all of them. How long it took; a worker that stays idle is a problem. */
  async resumed(what: string): Promise<number> {
    // More than all of them can hold at once.
    const enough = this.#claims.length * this.#concurrency + this.load.itemsPerRun
    await this.topUp(enough)
    const before = [...this.#claims]
    const from = performance.now()
    for (;;) {
      const idle = this.#claims.flatMap((n, which) => (n > (before[which] ?? 0) ? [] : [which]))
      const ms = performance.now() - from
      if (idle.length === 0) return ms
      if (ms > resumeWithinMs) {
        this.problems.push(`${idle.length} of ${this.#claims.length} workers claimed nothing in the ${resumeWithinMs / 1_000} s after ${what}`)
        return ms
      }
      await pause(50)
      if ((await this.live()) < this.#concurrency) await this.topUp(enough)
    }
  }

  /** Waits until every run has ended. False: nothing has ended for a long time; the verdict says what is left. */
  async ended(): Promise<boolean> {
    let least = Number.POSITIVE_INFINITY
    let until = 0
    for (;;) {
      const left = await this.#count(`select (select count(*) from pawl.runs where status in ${liveRuns})::integer + (select count(*) from pawl.items where status in ('pending', 'in_progress', 'blocked'))::integer as n`)
      if (left === 0) return true
      if (left < least) {
        least = left
        until = Date.now() + endDeadlineMs
      } else if (Date.now() > until) return false
      await pause(200)
    }
  }

  async verdict(): Promise<Judgement & { runs: number; failures: number }> {
    const driven = await Promise.all(this.#runs.map(async ({ n, runId }) => ({ plan: planLoad(this.ground.chance, this.load, n), runId, status: (await readRun(this.side, runId))?.status ?? 'missing' })))
    const failures = await this.#count('select coalesce(sum(failures), 0)::integer as n from pawl.items')
    return { ...(await judge(this.side, this.effects, driven)), runs: driven.length, failures }
  }

  async close(): Promise<void> {
    this.doubts.close()
    await Promise.all(this.#workers.map(async ({ harness, queue, ledger }) => {
      await harness.stop(3_000)
      await queue.close()
      await ledger.close()
    }))
    this.effects.close()
    await this.side.close()
  }
}
