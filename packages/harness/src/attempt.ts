/**
 * One claim of one item: its fence, its journal, its local lease, and the latch that ends it.
 * Parking sets the latch before anything is left pending: from then on no call is accepted, whatever the agent's code catches or races.
 */
import { actionKey, digest, PawlError, type BlockedReason, type ErrorRecord } from '@pawl/core'
import type { ActionRow, Completion, CompletionAnswer, Holder, Intent, IntentAnswer, ItemRow, RunRow, Turn, TurnAnswer } from '@pawl/ledger'
import type { AnyAgent } from './define-agent.ts'
import type { Journal } from './journal.ts'
import type { Parts } from './parts.ts'
import { AttemptTrace } from './telemetry/attempt-trace.ts'
import { startWatch, type Watch } from './watch.ts'

/** Why an attempt ended without the agent's own verdict. */
export type Ending =
  | { readonly kind: 'lost' }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'blocked'; readonly reason: BlockedReason; readonly detail: Readonly<Record<string, unknown>> }
  /** Not before `delayMs`; spends neither failures nor crash budget. */
  | { readonly kind: 'sleep'; readonly delayMs: number }
  /** `isFinal`: not tried again by itself. */
  | { readonly kind: 'failure'; readonly error: ErrorRecord; readonly isFinal?: boolean }

export interface MadeCall {
  readonly argsDigest: string
  /** As the agent gets it: never settles once the attempt is over. */
  answer: Promise<unknown>
  isRefused: boolean
}

export class Attempt {
  readonly #stop = new AbortController()
  readonly signal: AbortSignal = this.#stop.signal
  readonly parked: Promise<Ending>
  /** Calls of this attempt by key: a second call with the same key is the same call. */
  readonly calls = new Map<string, MadeCall>()
  /** By key, how often the guard stopped a send of this attempt. */
  readonly unsent = new Map<string, number>()
  /** For crash tests: this attempt's process stands still. */
  isFrozen = false
  /** Requests for a person's yes that this attempt's calls wait for. */
  readonly approvals = new Set<number>()
  /** Questions nobody has answered yet. */
  readonly questions = new Set<number>()
  #held = 0
  readonly #ordinals = new Map<string, number>()
  readonly #recheck = new Set<() => void>()
  readonly #writes = new Set<Promise<unknown>>()
  #ending: Ending | undefined
  #onParked: (ending: Ending) => void = () => {}
  #inFlight = 0
  #callsInFlight = 0
  #hasBranches = false
  #onQuiet: (() => void)[] = []
  #onIdle: (() => void)[] = []
  #renewed: Watch
  /** Since the claim was answered: no earlier holder wrote an intent after it. */
  readonly begun: Watch = startWatch()
  readonly trace: AttemptTrace
  /** Gives the worker's slot back for the time of a wait, and takes one again. */
  waitElsewhere: (wait: Promise<unknown>) => Promise<void> = async (wait) => { await wait }

  constructor(
    readonly parts: Parts,
    readonly agent: AnyAgent,
    readonly run: RunRow,
    readonly item: ItemRow,
    readonly journal: Journal,
    /** Started before the claim was sent. */
    readonly claimed: Watch,
  ) {
    this.#renewed = claimed
    this.trace = new AttemptTrace(run, item)
    this.parked = new Promise((resolve) => { this.#onParked = resolve })
  }

  get holder(): Holder {
    return { runId: this.run.id, seq: this.item.seq, epoch: this.item.epoch }
  }

  get place(): Record<string, unknown> {
    return { run: this.run.id, item: this.item.seq, attempt: this.item.attempts, epoch: this.item.epoch, ...(this.trace.traceId === undefined ? {} : { trace: this.trace.traceId }) }
  }

  get ending(): Ending | undefined {
    return this.#ending
  }

  get isLost(): boolean {
    return this.#ending?.kind === 'lost' || this.leaseLeftMs() <= 0
  }

  /** The first reason stands, except that a lost lease overrides every other: nothing more may be written. */
  park(ending: Ending): void {
    const isFirst = this.#ending === undefined
    if (isFirst || ending.kind === 'lost') this.#ending = ending
    if (isFirst) {
      this.#stop.abort(new Error(`the attempt is over: ${ending.kind}`))
      this.#onParked(ending)
      this.#wakeIdle()
    } else if (ending.kind === 'lost') this.#wakeQuiet(true)
  }

  leaseLeftMs(): number {
    return this.parts.timings.leaseMs - this.#renewed.elapsedMs()
  }

  /** @param asked started before the statement that renewed the lease was sent. */
  renewed(asked: Watch): void {
    if (asked.elapsedMs() < this.#renewed.elapsedMs()) this.#renewed = asked
  }

  async renew(): Promise<void> {
    const asked = startWatch()
    const answer = await this.parts.writer.renew(this.holder, this.item.epoch)
    if (answer.outcome === 'held') this.renewed(asked)
    else this.park({ kind: 'lost' })
  }

  ordinal(tool: string): number {
    const n = (this.#ordinals.get(tool) ?? 0) + 1
    this.#ordinals.set(tool, n)
    return n
  }

  /** The key of a call: its meaning where the tool or the caller says it, else the item and the n-th call of the tool. Drawn synchronously, so that order is the agent's. */
  keyOf(tool: string, parts: readonly unknown[] | undefined, own: string | undefined, ordinal: () => number = () => this.ordinal(tool)): string {
    const scope = this.item.kind === 'work' ? [] : [this.item.key]
    if (parts) return actionKey(this.run.id, tool, ['by-meaning', ...scope, ...parts, ...(own === undefined ? [] : ['own', own])])
    const which = own === undefined ? ordinal() : `own:${own}`
    return actionKey(this.run.id, tool, ['by-place', this.item.kind, this.item.key, which])
  }

  /** Two calls have been under way beside each other: what comes after an await has no order that every attempt repeats. */
  get hasBranches(): boolean {
    return this.#hasBranches
  }

  /** Counts a call in flight; the item leaves `in_progress` only when none is. `isCall`: of a tool. */
  enter(isCall = false): () => void {
    this.#inFlight++
    if (isCall && this.#callsInFlight++ > 0) this.#hasBranches = true
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      this.#inFlight--
      if (isCall) this.#callsInFlight--
      if (this.#inFlight === 0) this.#wakeQuiet(false)
      this.#wakeIdle()
    }
  }

  /** Calls that are in flight and yet nothing to wait for: they do not fit the journal, or wait for a person. */
  get held(): number {
    return this.#held
  }

  set held(count: number) {
    this.#held = count
    this.#wakeIdle()
  }

  /** For a call that waits for a person: resolves when nothing else of the attempt is under way or about to be, or when it is over. */
  async whenIdle(): Promise<void> {
    this.held++
    try {
      do {
        if (this.isBusy && !this.#ending) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
        // What a call that just returned leads to is asked for by now.
        await new Promise((resolve) => { setImmediate(resolve) })
      } while (this.isBusy && !this.#ending)
    } finally {
      this.held--
    }
  }

  #wakeIdle(): void {
    if (this.isBusy && !this.#ending) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Something of this attempt is still under way that may bring another call. */
  get isBusy(): boolean {
    return this.#inFlight > this.held
  }

  /** Resolves when no call is in flight, or at once when the lease is lost: then calls run on to their own deadline and bring evidence. */
  quiet(): Promise<void> {
    if (this.#inFlight === 0 || this.#ending?.kind === 'lost') return Promise.resolve()
    return new Promise((resolve) => this.#onQuiet.push(resolve))
  }

  #wakeQuiet(always: boolean): void {
    if (!always && this.#inFlight > 0) return
    for (const resolve of this.#onQuiet.splice(0)) resolve()
  }

  /** Calls `again` whenever another call was asked for: a held call may fit then. Returns how to stop. */
  onAsked(again: () => void): () => void {
    this.#recheck.add(again)
    return () => this.#recheck.delete(again)
  }

  asked(): void {
    for (const again of this.#recheck) again()
  }

  /** All a person has to answer before this item's calls and questions go on. */
  waitsFor(): { approvals: number[]; questions: number[] } {
    return { approvals: [...this.approvals], questions: [...this.questions] }
  }

  async intent(intent: Intent): Promise<IntentAnswer> {
    const asked = startWatch()
    const answer = await this.parts.writer.intent(this.holder, this.item.epoch, intent)
    if (answer.outcome === 'fenced') this.park({ kind: 'lost' })
    else this.renewed(asked)
    return answer
  }

  /** Resolves when the completion is durable. Whoever does not await it relies on `durable()`. */
  completion(completion: Completion): Promise<CompletionAnswer> {
    const asked = startWatch()
    const write = this.parts.writer.completion(this.holder, this.item.epoch, completion).then((answer) => {
      if (answer.outcome === 'recorded') this.renewed(asked)
      else this.park({ kind: answer.outcome === 'fenced' ? 'lost' : 'interrupted' })
      return answer
    })
    this.track(write)
    return write
  }

  /** A decision of the model's: enqueued now, so that the calls made in the same tick are written with it and none of them before. */
  turn(turn: Turn): Promise<TurnAnswer> {
    const asked = startWatch()
    this.journal.putTurn(turn)
    const write = this.parts.writer.turn(this.holder, this.item.epoch, turn).then((answer) => {
      if (answer.outcome === 'recorded') this.renewed(asked)
      // Another decision has the number: the next claim brings it, and it is the one that is followed.
      else this.park({ kind: answer.outcome === 'fenced' ? 'lost' : 'interrupted' })
      return answer
    })
    this.track(write)
    return write
  }

  record(name: string, value: string): void {
    this.journal.noteRecord()
    this.track(this.parts.writer.record(this.holder, this.item.epoch, { name, value }).then((answer) => {
      if (answer.outcome === 'fenced') this.park({ kind: 'lost' })
    }))
  }

  track(write: Promise<unknown>): void {
    const watched = write.catch((error: unknown) => {
      this.parts.log('error', `a ledger write failed: ${error instanceof Error ? error.message : String(error)}`, this.place)
      this.park({ kind: 'interrupted' })
    }).finally(() => this.#writes.delete(watched))
    this.#writes.add(watched)
  }

  /** Everything enqueued so far is in the ledger (or the attempt is lost). */
  async durable(): Promise<void> {
    await Promise.all(this.#writes)
  }

  /** Takes a row the ledger returned into the journal. */
  put(action: ActionRow): ActionRow {
    this.journal.put(action)
    if (action.sends > 0) this.parts.trust.remember(action)
    return action
  }
}

/** The ledger's Postgres did not answer: nobody's failure. */
export const isLedgerAway = (error: unknown): boolean => error instanceof PawlError && error.next === 'retry'

export const digestOf = (args: unknown): string => digest(args)

/** A promise nobody can catch, race out of, or be woken by: the rest of an agent that must not go on. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {})
