/**
 * Several harnesses in one process, on a real ledger and a real queue, with short leases and a hook at every failpoint. An attempt that
 * freezes at a failpoint and never goes on is a crash at that point; one that goes on after its lease is a zombie.
 */
import { encode, newRunId } from '@pawl/core'
import { encodeItems, Harness, type AnyAgent, type FailpointName, type FailpointPlace, type ItemSeed, type Log, type Timings } from '@pawl/harness'
import { appendItems, Ledger, migrateLedger, openStream, readIdentity, readRun, sealRun, startRun, type RunPolicy, type RunRow } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { pinsOf } from '@pawl/tools'

/** Long enough for a loaded machine, short enough that a takeover is a matter of one or two seconds. */
export const shortTimings: Timings = {
  leaseMs: 2_500, renewEveryMs: 500, sendWindowMs: 1_000, sweepEveryMs: 50, sweeperLeaseMs: 1_500, heartbeatEveryMs: 1_000,
  undeliveredAfterMs: 1_000, divergedHoldMs: 250, stopGraceMs: 10_000, settleAgainMs: 50, alonePatienceMs: 2_000, versionGraceMs: 300,
}

export interface FaultPlan {
  readonly runId: string
  readonly at: FailpointName
  /** Only where this tool is concerned. */
  readonly tool?: string
  readonly seq?: number
  /** Strikes at this arrival, counted from 1. */
  readonly nth?: number
  readonly does: 'freeze' | 'throw'
}

export interface PlannedFault {
  /** Resolves with the place when it struck. */
  readonly struck: Promise<FailpointPlace>
  /** Lets a frozen attempt go on: the zombie wakes. */
  thaw(): void
}

interface ArmedFault extends FaultPlan {
  arrivals: number
  isSpent: boolean
  strike(worker: number, place: FailpointPlace): Promise<void>
}

export interface VirtualWorkersOptions {
  readonly url: string
  readonly agents: readonly AnyAgent[]
  /** How many processes to play. Default 2. */
  readonly workers?: number
  readonly concurrency?: number
  readonly timings?: Partial<Timings>
  readonly log?: Log
  /** Where doorbells go. Absent: the Postgres queue. */
  readonly redisUrl?: string
}

export class VirtualWorkers {
  readonly #faults: ArmedFault[] = []
  readonly #thaws = new Set<() => void>()
  readonly #dead = new Set<number>()
  /** How often each failpoint was passed: a run in which one never was proves nothing about it. */
  readonly passed = new Map<FailpointName, number>()
  readonly workers: Harness[] = []

  private constructor(readonly ledger: Ledger, readonly queue: Queue, private readonly options: VirtualWorkersOptions) {}

  static async open(options: VirtualWorkersOptions): Promise<VirtualWorkers> {
    const ledger = new Ledger({ url: options.url, name: 'virtual workers', connections: 6 })
    await migrateLedger(ledger)
    const { id } = await readIdentity(ledger)
    const { url, redisUrl } = options
    const queue = connectQueue({ ...(redisUrl === undefined ? { backend: 'postgres', url } : { backend: 'redis', url: redisUrl }), ledgerId: id, onError: () => {} })
    await queue.ready()
    const all = new VirtualWorkers(ledger, queue, options)
    for (let i = 0; i < (options.workers ?? 2); i++) await all.startWorker()
    return all
  }

  /** One more process. */
  async startWorker(agents: readonly AnyAgent[] = this.options.agents): Promise<Harness> {
    const which = this.workers.length
    const harness = await Harness.start({
      ledger: this.ledger, queue: this.queue, agents, concurrency: this.options.concurrency ?? 100, roles: ['items', 'splits'], name: `virtual-${which}`,
      timings: { ...shortTimings, ...this.options.timings }, log: this.options.log ?? (() => {}), failpoint: (name, place) => this.#pass(which, name, place),
    })
    this.workers.push(harness)
    return harness
  }

  /** Every worker there is dies where it stands: it renews, claims, sweeps and writes nothing any more. */
  kill(): void {
    this.workers.forEach((worker, which) => {
      if (this.#dead.has(which)) return
      this.#dead.add(which)
      worker.abandon()
    })
  }

  #pass(worker: number, name: FailpointName, place: FailpointPlace): void | Promise<void> {
    if (this.#dead.has(worker)) return new Promise(() => {})
    this.passed.set(name, (this.passed.get(name) ?? 0) + 1)
    for (const fault of this.#faults) {
      if (fault.isSpent || fault.at !== name || fault.runId !== place.runId) continue
      if ((fault.tool ?? place.tool) !== place.tool || (fault.seq ?? place.seq) !== place.seq) continue
      if (++fault.arrivals < (fault.nth ?? 1)) continue
      fault.isSpent = true
      return fault.strike(worker, place)
    }
  }

  /** Arms one fault; it strikes once. */
  fault(plan: FaultPlan): PlannedFault {
    let tell: (place: FailpointPlace) => void = () => {}
    let thaw: () => void = () => {}
    const struck = new Promise<FailpointPlace>((resolve) => { tell = resolve })
    const thawed = new Promise<void>((resolve) => { thaw = resolve })
    this.#thaws.add(thaw)
    this.#faults.push({
      ...plan, arrivals: 0, isSpent: false,
      strike: async (worker, place) => {
        tell(place)
        if (plan.does === 'throw') throw new Error(`failpoint ${plan.at}`)
        this.workers[worker]?.freeze(place)
        await thawed
        this.workers[worker]?.freeze(place, false)
      },
    })
    return { struck, thaw }
  }

  /** Starts a run with these items, or with the agent's split when there are none. `rings: false`: the caller dies before anybody is told. */
  async startRun(agent: AnyAgent, input: unknown, options: { items?: readonly ItemSeed<unknown>[]; policy?: Partial<RunPolicy>; id?: string; rings?: boolean } = {}): Promise<string> {
    const id = options.id ?? newRunId()
    await startRun(this.ledger, {
      id, namespace: 'test', key: null, digest: null, agent: agent.name, ...pinsOf(agent), input: encode(input, { what: 'input' }), labels: {}, policy: { ...agent.policy, ...options.policy }, createdBy: 'test', split: options.items === undefined,
    })
    if (options.items) {
      const stream = (await openStream(this.ledger, id, 60_000)) ?? 0
      if (options.items.length > 0) await appendItems(this.ledger, id, stream, encodeItems(agent, options.items))
      await sealRun(this.ledger, id, stream, null)
    }
    if (options.rings !== false) this.touch(id)
    return id
  }

  /** Somebody rings for the run. */
  touch(runId: string): void {
    for (const worker of this.workers) worker.touch(runId)
  }

  /** The run once it is in one of these states; by default, ended. */
  async runIs(runId: string, statuses: readonly RunRow['status'][] = endings, deadlineMs = 60_000): Promise<RunRow> {
    let run: RunRow | undefined
    await until(`run ${runId} is ${statuses.join(' or ')}`, async () => {
      run = await readRun(this.ledger, runId)
      return run !== undefined && statuses.includes(run.status)
    }, deadlineMs, () => run?.status ?? 'missing')
    return run as RunRow
  }

  get agents(): readonly AnyAgent[] {
    return this.options.agents
  }

  /** No worker has an attempt of the run any more, frozen or not: every zombie of it has noticed. */
  async quiet(runId: string): Promise<void> {
    await until(`no attempt of ${runId} is left`, () => this.workers.every((worker) => worker.attemptsOf(runId) === 0))
  }

  /** Every frozen attempt goes on. */
  thawAll(): void {
    for (const thaw of this.#thaws) thaw()
  }

  /** Wakes what is frozen, stops every worker, closes queue and ledger. */
  async close(): Promise<void> {
    this.thawAll()
    await Promise.all(this.workers.map((worker) => worker.stop(3_000)))
    await this.queue.close()
    await this.ledger.close()
  }
}

const endings: readonly RunRow['status'][] = ['completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue']

/** Polls until true; the deadline only ends a broken test. */
export async function until(what: string, check: () => Promise<boolean> | boolean, deadlineMs = 60_000, seen: () => unknown = () => ''): Promise<void> {
  const end = Date.now() + deadlineMs
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain until ${what}; last seen: ${String(seen())}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
