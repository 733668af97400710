/**
 * A process's harness: takes doorbells, claims, runs attempts in its slots, renews their leases in one batch, notices pause, failover and the end.
 * The ledger's lease alone ends an attempt; what the queue thinks of a job's lock is ignored.
 */
import { newId, PawlError, type Observe } from '@pawl/core'
import { beat, forgetDispatch, freeLeases, listNeighbours, lookAtRuns, pinsText, readIdentity, removeWorker, Writer, type Ledger, type HeldRun, type LedgerIdentity, type WorkerRow } from '@pawl/ledger'
import type { BoardJob, Channel, Doorbell, Queue, Subscription } from '@pawl/queue'
import { Attempt, never } from './attempt.ts'
import { buildsOf, servedVersions } from './builds.ts'
import { Claimer, type Claimed } from './claimer.ts'
import type { AnyAgent } from './define-agent.ts'
import type { Failpoint } from './failpoint.ts'
import { Journal } from './journal.ts'
import type { Log, Parts } from './parts.ts'
import { identifyProcess, isProvenDead } from './process-identity.ts'
import { Ringer } from './ringer.ts'
import { runItem, type Verdict } from './run-item.ts'
import { SlotHolder } from './slot-holder.ts'
import { Slots } from './slots.ts'
import { Sweeper } from './sweeper.ts'
import { endDeadAttempts } from './telemetry/dead-attempts.ts'
import { defaultTimings, type Timings } from './timings.ts'
import { hasTool } from './tool-by-name.ts'
import { Trust } from './trust.ts'

export interface HarnessOptions {
  readonly ledger: Ledger
  readonly queue: Queue
  readonly agents: readonly AnyAgent[]
  /** Attempts at once. */
  readonly concurrency: number
  readonly log: Log
  /** What it takes: items of agents, splits, or both. */
  readonly roles: readonly ('items' | 'splits')[]
  readonly name?: string
  readonly workerId?: string
  readonly timings?: Partial<Timings>
  readonly failpoint?: Failpoint
  /** Told of everything that is counted. Must not throw. */
  readonly observe?: Observe
  /** Told of running turns of agents that think, piece by piece; nothing of it is durable. */
  readonly onTurnDelta?: Parts['onTurnDelta']
}

export class Harness {
  readonly #options: HarnessOptions
  readonly #timings: Timings
  readonly #parts: Parts
  readonly #identity: LedgerIdentity
  readonly #trust: Trust
  readonly #worker: WorkerRow
  /** `agent@version` of the items it takes, and what its code has for each. */
  readonly #serves: readonly string[]
  readonly #builds: string
  readonly #writer: Writer
  readonly #claimer: Claimer
  readonly #slots: Slots
  readonly #ringer: Ringer
  readonly #sweeper: Sweeper
  readonly #attempts = new Set<Attempt>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #timers: NodeJS.Timeout[] = []
  #subscriptions: Subscription[] = []
  #isStopping = false
  #isDead = false

  private constructor(options: HarnessOptions, identity: LedgerIdentity) {
    this.#options = options
    this.#identity = identity
    this.#timings = { ...defaultTimings, ...options.timings }
    this.#worker = { id: options.workerId ?? newId(), name: options.name ?? 'worker', ...identifyProcess() }
    this.#trust = new Trust(options.ledger, identity, this.#worker.id, options.log, () => this.#handBack())
    const observe = options.observe ?? (() => {})
    this.#writer = new Writer(options.ledger, {
      leaseMs: this.#timings.leaseMs, onHistory: (history) => this.#trust.see(history),
      onFlush: ({ items, ms }) => { observe('pawl_flush_items', items); observe('pawl_flush_seconds', ms / 1_000) },
    })
    this.#serves = options.roles.includes('items') ? options.agents.flatMap((agent) => servedVersions(agent).map((version) => `${agent.name}@${version}`)) : []
    this.#builds = buildsOf(options.agents, options.roles)
    this.#claimer = new Claimer(options.ledger, this.#worker.id, this.#timings.leaseMs, this.#builds)
    this.#slots = new Slots(options.concurrency)
    const dispatch = { ledger: options.ledger, queue: options.queue, ledgerId: identity.id, observe }
    this.#ringer = new Ringer(dispatch, (error, runId) => options.log('warn', `dispatch failed, the sweep will ring: ${error instanceof Error ? error.message : String(error)}`, { run: runId }))
    this.#sweeper = new Sweeper(dispatch, this.#worker.id, this.#timings, options.log)
    this.#parts = { ledger: options.ledger, writer: this.#writer, timings: this.#timings, failpoint: options.failpoint ?? (() => {}), log: options.log, observe, trust: this.#trust, onTurnDelta: options.onTurnDelta }
  }

  /** Registers the process, frees what dead predecessors on this host still hold, subscribes, and sweeps when elected. */
  static async start(options: HarnessOptions): Promise<Harness> {
    const harness = new Harness(options, await readIdentity(options.ledger))
    await harness.#begin()
    return harness
  }

  get workerId(): string {
    return this.#worker.id
  }

  /** Attempts under way. */
  get running(): number {
    return this.#attempts.size
  }

  /** Attempts of one run under way here. */
  attemptsOf(runId: string): number {
    return [...this.#attempts].filter((attempt) => attempt.run.id === runId).length
  }

  /** Rings for what is due of a run, soon. */
  touch(runId: string): void {
    this.#ringer.touch(runId)
  }

  async #begin(): Promise<void> {
    const { ledger, queue, agents, concurrency, log, roles } = this.#options
    if (!this.#trust.isTrusted) {
      log('error', 'the server is not the one, or not on the timeline, this ledger was written on: only reads are sent until a person has looked at what may be missing: "pawl ledger clear"', {})
      // Before this process writes anything that would look like a sign of the lost time.
      await this.#trust.recover()
    }
    await beat(ledger, this.#worker, this.#serves, this.#builds)
    for (const other of await listNeighbours(ledger, this.#worker)) {
      if (!isProvenDead(other, this.#worker)) continue
      await endDeadAttempts(ledger, other.id, (error) => log('warn', `the trace of dead worker ${other.name} stays open: ${error instanceof Error ? error.message : String(error)}`, {}))
      for (const { runId, freed } of await freeLeases(ledger, other.id)) {
        log('info', `took over ${freed} items of dead worker ${other.name} (pid ${other.pid})`, { run: runId })
        this.#ringer.touch(runId)
      }
      await removeWorker(ledger, other.id)
    }
    const channels: Channel[] = [
      ...(roles.includes('items') ? agents.flatMap((agent) => servedVersions(agent).map((version): Channel => ({ kind: 'agent', agent: agent.name, version }))) : []),
      ...(roles.includes('splits') ? [{ kind: 'split' } as const] : []),
    ]
    this.#subscriptions = await Promise.all(channels.map((channel) => queue.subscribe(channel, concurrency, (bell, board) => this.handle(bell, board))))
    this.#timers.push(
      setInterval(() => this.#renew(), this.#timings.renewEveryMs),
      setInterval(() => this.#endLost(), Math.max(50, this.#timings.leaseMs / 20)),
      setInterval(() => void this.#beat(), this.#timings.heartbeatEveryMs),
      setInterval(() => void this.#stopChanged(), this.#timings.sweepEveryMs),
    )
    this.#sweeper.start()
  }

  /** One doorbell. Resolves when the attempt has ended, or when it waits without a slot; the ledger has the verdict by then. */
  async handle(bell: Doorbell, board?: BoardJob): Promise<string> {
    if (bell.ledgerId !== this.#identity.id) {
      throw new PawlError('FOREIGN_LEDGER', `This job belongs to ledger ${bell.ledgerId}; this worker serves ${this.#identity.id}. Two systems share a queue prefix: give one another.`, 'drop')
    }
    if (this.#isDead) return await never()
    if (this.#isStopping) return await this.#decline(bell)
    await this.#parts.failpoint('before-claim', { runId: bell.runId, seq: bell.seq })
    const release = await this.#slots.take()
    if (this.#isStopping) {
      release()
      return await this.#decline(bell)
    }
    const claimed = await this.#claimer.claim(bell).catch((error: unknown) => { release(); throw error })
    if (claimed.answer.verdict !== 'suspect') return await this.#work(claimed, new SlotHolder(release, () => this.#slots.take()), board)
    release()
    const releaseAll = await this.#slots.takeAlone(this.#timings.alonePatienceMs)
    const alone = await this.#claimer.claimAlone(bell).catch((error: unknown) => { releaseAll(); throw error })
    // What waited once has let others begin: from then on it is one of them.
    return await this.#work(alone, new SlotHolder(releaseAll, () => this.#slots.take()), board)
  }

  async #decline(bell: Doorbell): Promise<string> {
    await forgetDispatch(this.#options.ledger, [bell]).catch(() => {})
    return 'stopping'
  }

  async #work({ answer, asked }: Claimed, slot: SlotHolder, board: BoardJob | undefined): Promise<string> {
    const { item, run } = answer
    if (answer.history !== null) this.#trust.see(answer.history)
    if (answer.verdict !== 'claimed' || !item || !run) {
      slot.end()
      return answer.verdict
    }
    const agent = this.#options.agents.find((one) => one.name === run.agent && servedVersions(one).includes(run.agent_version))
    if (!agent) {
      slot.end()
      await this.#writer.finish({ runId: run.id, seq: item.seq }, item.epoch, { status: 'pending', delayMs: 5_000 })
      return 'not served here'
    }
    for (const action of answer.journal ?? []) this.#trust.remember(action)
    if (item.dispatched_at !== null && item.lease_until !== null) {
      const claimedMs = Date.parse(item.lease_until) - this.#timings.leaseMs
      this.#parts.observe('pawl_dispatch_lag_seconds', Math.max(0, claimedMs - Date.parse(item.dispatched_at)) / 1_000)
    }
    const attempt = new Attempt(this.#parts, agent, run, item, new Journal(answer.journal ?? [], answer.records ?? [], item.allow_new_calls, answer.turns ?? [], answer.questions ?? [], (name) => hasTool(agent, name)), asked)
    return await this.#attend(attempt, slot, board)
  }

  async #attend(attempt: Attempt, slot: SlotHolder, board: BoardJob | undefined): Promise<string> {
    let isWaiting: () => void = () => {}
    const parkedHere = new Promise<string>((resolve) => { isWaiting = () => resolve('waits without a slot') })
    attempt.waitElsewhere = async (wait) => {
      isWaiting()
      await slot.without(wait, () => attempt.ending !== undefined)
    }
    this.#attempts.add(attempt)
    const begunAt = performance.now()
    if (this.#isStopping || !this.#trust.isTrusted) attempt.park({ kind: 'interrupted' })
    const running = runItem(attempt).catch((error: unknown): Verdict => {
      this.#options.log('error', `an attempt broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, attempt.place)
      return 'lost'
    }).then((verdict) => {
      this.#tell(attempt, verdict, performance.now() - begunAt)
      board?.progress(attempt.journal.actions().filter((action) => action.status === 'committed').length)
      board?.log(`${verdict}: attempt ${attempt.item.attempts}, ${attempt.journal.actions().length} actions`)
      return verdict
    }).finally(() => {
      this.#attempts.delete(attempt)
      slot.end()
      this.#running.delete(running)
      this.#ringer.touch(attempt.run.id)
    })
    this.#running.add(running)
    return await Promise.race([running, parkedHere])
  }

  #tell(attempt: Attempt, verdict: Verdict, ms: number): void {
    const { run: { agent }, item: { kind }, parts: { observe, log } } = attempt
    attempt.trace.end(verdict)
    observe('pawl_attempts_total', 1, { agent, kind, verdict })
    observe('pawl_attempt_seconds', ms / 1_000, { kind })
    if (verdict === 'lost') observe('pawl_lease_losses_total', 1, { agent })
    log('debug', `attempt ended: ${verdict}`, { ...attempt.place, kind, ms: Math.round(ms) })
  }

  /**
   * For crash tests: this process does for one attempt what a stopped process does: nothing. It neither renews nor notices that its lease is over.
   * Whatever the failpoint hook holds back stays held, and goes on when the hook lets it: a zombie that wakes.
   */
  freeze(place: { runId: string; seq: number; epoch?: number }, isFrozen = true): void {
    for (const attempt of this.#attempts) {
      if (attempt.run.id === place.runId && attempt.item.seq === place.seq && attempt.item.epoch === place.epoch) attempt.isFrozen = isFrozen
    }
  }

  /** For crash tests: the process is dead. Nothing is renewed, claimed, swept or given back any more. */
  abandon(): void {
    this.#isDead = true
    // Its jobs' locks end with it, so that the queue hands them to somebody else.
    for (const subscription of this.#subscriptions) void subscription.close(0)
    for (const timer of this.#timers) clearInterval(timer)
    this.#sweeper.pause()
    this.#ringer.close()
    this.#writer.close()
    for (const attempt of this.#attempts) attempt.isFrozen = true
  }

  #renew(): void {
    for (const attempt of this.#attempts) {
      if (attempt.ending?.kind !== 'lost' && !attempt.isFrozen) attempt.renew().catch(() => {})
    }
  }

  #endLost(): void {
    for (const attempt of this.#attempts) {
      if (attempt.leaseLeftMs() > 0 || attempt.ending?.kind === 'lost' || attempt.isFrozen) continue
      this.#options.log('warn', 'the lease could not be renewed in time; the attempt is over', attempt.place)
      attempt.park({ kind: 'lost' })
    }
  }

  async #beat(): Promise<void> {
    await this.#trust.look()
    await beat(this.#options.ledger, this.#worker, this.#serves, this.#builds).catch(() => {})
  }

  async #stopChanged(): Promise<void> {
    const held = [...this.#attempts].filter((attempt) => attempt.item.kind !== 'settle' && !attempt.isFrozen)
    const looked = await lookAtRuns(this.#options.ledger, [...new Set(held.map((attempt) => attempt.run.id))]).catch((): HeldRun[] => [])
    for (const attempt of held) {
      const run = looked.find((one) => one.id === attempt.run.id)
      if (run && (run.paused || run.pins !== pinsText(attempt.run))) attempt.park({ kind: 'interrupted' })
    }
  }

  /** The ledger may have lost what these attempts rest on. Calls under way run to their own end, and their answers are kept. */
  #handBack(): void {
    for (const attempt of this.#attempts) if (!attempt.isFrozen) attempt.park({ kind: 'interrupted' })
  }

  /** No new items; calls under way may finish within the grace; every item is handed back at its next call boundary. */
  async stop(graceMs: number = this.#timings.stopGraceMs): Promise<void> {
    if (this.#isStopping || this.#isDead) return
    this.#isStopping = true
    for (const subscription of this.#subscriptions) subscription.pause()
    this.#sweeper.pause()
    for (const attempt of this.#attempts) attempt.park({ kind: 'interrupted' })
    await Promise.race([Promise.allSettled(this.#running), new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
    this.#ringer.close()
    for (const timer of this.#timers) clearInterval(timer)
    await this.#sweeper.stop()
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close(500)))
    this.#writer.close()
    await removeWorker(this.#options.ledger, this.#worker.id).catch(() => {})
  }
}
