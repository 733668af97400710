/**
 * One writer per worker process. Calls enqueue; while one flush is on the wire the next gathers, so rows of one item are in at most one flush.
 * An item's completions, intents, records and finish that meet in the queue are folded into one row of the flush: a completion rides with the
 * next intent, and nothing is sent before both are durable.
 *
 * What a missing row means is read from the ledger, never guessed: fenced (the attempt is over), busy (written again), a key that exists,
 * or a lost answer (written again with the same token, then read). A batch the database refuses is split by item, never by row.
 */
import { flush, placeOf, placeOfKey, type Completion, type Finish, type FlushAnswer, type Intent, type ItemRef, type Want } from './flush.ts'
import type { Ledger } from './connect.ts'
import type { History } from './history.ts'
import { isPassing } from './passing-error.ts'
import { readPlace, type Place } from './read-place.ts'
import type { ActionRow } from './rows.ts'

export type IntentAnswer =
  | { readonly outcome: 'sent'; readonly id: number; readonly orderNo: number }
  | { readonly outcome: 'exists'; readonly action: ActionRow }
  | { readonly outcome: 'fenced' }
/** `recorded` with `started`: this send is proved not applied, an earlier one is not. `refused`: another hand settled the action. */
export type CompletionAnswer =
  | { readonly outcome: 'recorded'; readonly status: 'committed' | 'failed' | 'started' }
  | { readonly outcome: 'refused'; readonly action: ActionRow | undefined }
  | { readonly outcome: 'fenced' }
export type FinishAnswer = { readonly outcome: 'finished' | 'open' | 'fenced' }
export type HoldAnswer = { readonly outcome: 'held' | 'fenced' }

interface Waiting<T> {
  resolve(answer: T): void
  reject(error: unknown): void
}
type Op =
  | ({ readonly kind: 'intent'; readonly intent: Intent } & Waiting<IntentAnswer>)
  | ({ readonly kind: 'completion'; readonly completion: Completion } & Waiting<CompletionAnswer>)
  | ({ readonly kind: 'record'; readonly record: { name: string; value: string } } & Waiting<HoldAnswer>)
  | ({ readonly kind: 'finish'; readonly finish: Finish } & Waiting<FinishAnswer>)
  | ({ readonly kind: 'renew' } & Waiting<HoldAnswer>)

interface Batch {
  readonly item: ItemRef
  readonly epoch: number
  ops: Op[]
  /** Somebody holds the item's row: not written again before (`performance.now()`). */
  notBefore?: number
}

export interface WriterOptions {
  readonly leaseMs: number
  /** Called with the history every flush was written on, before anybody hears of its intents. */
  readonly onHistory?: (history: History) => void
  readonly onFlush?: (figures: { items: number; ms: number }) => void
  /** Pause between writes while the ledger is away. */
  readonly retryMs?: number
}

const mostItems = 500
const mostBytes = 8_000_000
const busyMs = 10

export class Writer {
  #pending = new Map<string, Batch>()
  #flying = false
  #scheduled = false
  /** Waits for busy rows only; whatever else comes goes out at once. */
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** Attempts one of whose completions was refused: what they want after it rests on a result the ledger does not have. */
  #refused = new Set<string>()

  constructor(private readonly ledger: Ledger, private readonly options: WriterOptions) {}

  intent(item: ItemRef, epoch: number, intent: Intent): Promise<IntentAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'intent', intent, resolve, reject }))
  }

  completion(item: ItemRef, epoch: number, completion: Completion): Promise<CompletionAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'completion', completion, resolve, reject }))
  }

  record(item: ItemRef, epoch: number, record: { name: string; value: string }): Promise<HoldAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'record', record, resolve, reject }))
  }

  finish(item: ItemRef, epoch: number, finish: Finish): Promise<FinishAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'finish', finish, resolve, reject }))
  }

  renew(item: ItemRef, epoch: number): Promise<HoldAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'renew', resolve, reject }))
  }

  /** Nothing is written after it; what still waits is rejected. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const batch of this.#pending.values()) rejectAll(batch, new Error('the ledger writer was closed'))
    this.#pending.clear()
  }

  #add(item: ItemRef, epoch: number, op: Op): void {
    if (this.#refused.has(placeOf(item, epoch))) return answerFenced(op)
    this.#enqueue({ item, epoch, ops: [op] })
    this.#schedule()
  }

  #enqueue(batch: Batch): void {
    if (this.#closed) return rejectAll(batch, new Error('the ledger writer was closed'))
    const place = placeOf(batch.item, batch.epoch)
    const waiting = this.#pending.get(place)
    if (waiting) waiting.ops.push(...batch.ops)
    else this.#pending.set(place, batch)
  }

  #schedule(): void {
    if (this.#flying || this.#scheduled || this.#pending.size === 0) return
    clearTimeout(this.#timer)
    const now = performance.now()
    let waitMs = busyMs
    for (const batch of this.#pending.values()) waitMs = Math.min(waitMs, (batch.notBefore ?? 0) - now)
    if (waitMs > 0) {
      this.#timer = setTimeout(() => void this.#fly(), waitMs)
      return
    }
    this.#scheduled = true
    // After the microtasks of a returned call, so that the agent's next intent is there to ride with its completion.
    setImmediate(() => {
      this.#scheduled = false
      void this.#fly()
    })
  }

  #take(): Batch[] {
    const taken: Batch[] = []
    let bytes = 0
    const now = performance.now()
    for (const [place, batch] of this.#pending) {
      if ((batch.notBefore ?? 0) > now) continue
      if (taken.length > 0 && (taken.length >= mostItems || bytes >= mostBytes)) break
      bytes += sizeOf(batch)
      this.#pending.delete(place)
      taken.push(batch)
    }
    return taken
  }

  async #fly(): Promise<void> {
    if (this.#flying) return
    const batches = this.#take()
    if (batches.length === 0) return this.#schedule()
    this.#flying = true
    try {
      await this.#write(batches)
    } finally {
      this.#flying = false
      this.#schedule()
    }
  }

  async #write(batches: Batch[]): Promise<void> {
    const begunAt = performance.now()
    let answer: FlushAnswer
    try {
      answer = await flush(this.ledger, batches.map(wantOf), this.options.leaseMs)
    } catch (error) {
      return await this.#failed(batches, error)
    }
    this.options.onHistory?.(answer.history)
    this.options.onFlush?.({ items: batches.length, ms: performance.now() - begunAt })
    const unclear = batches.filter((batch) => !settleFromAnswer(batch, answer))
    if (unclear.length > 0) await this.#readBack(unclear, answer)
  }

  async #failed(batches: Batch[], error: unknown): Promise<void> {
    if (isRetryable(error)) {
      for (const batch of batches) this.#enqueue(this.#pendingFirst(batch))
      await new Promise((resolve) => setTimeout(resolve, this.options.retryMs ?? 100))
      return
    }
    if (batches.length === 1) return rejectAll(batches[0]!, error)
    for (const batch of batches) await this.#write([batch])
  }

  /** Puts a batch back before what was enqueued for the same item meanwhile. */
  #pendingFirst(batch: Batch): Batch {
    const place = placeOf(batch.item, batch.epoch)
    const later = this.#pending.get(place)
    if (!later) return batch
    this.#pending.delete(place)
    return { ...batch, ops: [...batch.ops, ...later.ops] }
  }

  async #readBack(batches: Batch[], answer: FlushAnswer): Promise<void> {
    let places: Map<string, Place>
    try {
      places = await readPlace(this.ledger, batches.map(({ item, epoch, ops }) => ({ item, epoch, keys: ops.flatMap(keyOf) })))
    } catch (error) {
      return await this.#failed(batches, error)
    }
    for (const batch of batches) {
      const place = placeOf(batch.item, batch.epoch)
      const { again, isRefused } = settleFromPlace(batch, places.get(place), answer.locked.has(place), answer.written.has(place))
      const next = this.#pendingFirst({ item: batch.item, epoch: batch.epoch, ops: again, ...(answer.locked.has(place) ? {} : { notBefore: performance.now() + busyMs }) })
      if (isRefused) {
        this.#refused.add(place)
        for (const op of next.ops) answerFenced(op)
      } else if (next.ops.length > 0) this.#enqueue(next)
    }
  }
}

const isRetryable = (error: unknown): boolean => isPassing(error) || (error as { next?: unknown }).next === 'retry'

function rejectAll(batch: Batch, error: unknown): void {
  for (const op of batch.ops) op.reject(error)
}

function answerFenced(op: Op): void {
  op.resolve({ outcome: 'fenced' })
}

function keyOf(op: Op): string[] {
  return op.kind === 'intent' ? [op.intent.key] : op.kind === 'completion' ? [op.completion.key] : []
}

function sizeOf(batch: Batch): number {
  let bytes = 200
  for (const op of batch.ops) {
    if (op.kind === 'completion') bytes += op.completion.result?.length ?? 0
    else if (op.kind === 'intent') bytes += op.intent.args.length
    else if (op.kind === 'record') bytes += op.record.value.length
  }
  return bytes
}

/** A finish never rides with an intent: written again after a lost answer, it could be judged by a snapshot older than that intent. */
function wantOf({ item, epoch, ops }: Batch): Want {
  const hasIntent = ops.some((op) => op.kind === 'intent')
  return {
    item,
    epoch,
    completions: ops.flatMap((op) => (op.kind === 'completion' ? [op.completion] : [])),
    intents: ops.flatMap((op) => (op.kind === 'intent' ? [op.intent] : [])),
    records: ops.flatMap((op) => (op.kind === 'record' ? [op.record] : [])),
    finish: hasIntent ? undefined : ops.findLast((op) => op.kind === 'finish')?.finish,
  }
}

/** Answers what the flush answered in full; false when something of the batch has to be read. */
function settleFromAnswer(batch: Batch, answer: FlushAnswer): boolean {
  if (!answer.written.has(placeOf(batch.item, batch.epoch))) return false
  const { finish } = wantOf(batch)
  batch.ops = batch.ops.filter((op) => {
    switch (op.kind) {
      case 'intent': {
        const row = answer.intended.get(op.intent.token)
        if (!row) return true
        op.resolve({ outcome: 'sent', ...row })
        return false
      }
      case 'completion': {
        const status = answer.completed.get(placeOfKey(batch.item.runId, op.completion.key))
        if (!status) return true
        op.resolve({ outcome: 'recorded', status })
        return false
      }
      case 'finish':
        if (op.finish !== finish) return true
        op.resolve({ outcome: 'finished' })
        return false
      case 'record': case 'renew': op.resolve({ outcome: 'held' }); return false
    }
  })
  return batch.ops.length === 0
}

/** Decides from the rows themselves what holds. Returns what has to be written again, and whether a completion was refused: then nothing is. */
function settleFromPlace(batch: Batch, place: Place | undefined, wasLocked: boolean, wasWritten: boolean): { again: Op[]; isRefused: boolean } {
  const fenced = !place || place.epoch !== batch.epoch || place.status !== 'in_progress'
  const again: Op[] = []
  let isRefused = false
  let hasTaken = false
  for (const op of batch.ops) {
    switch (op.kind) {
      case 'completion': {
        const action = place?.actions.get(op.completion.key)
        const status = takenAs(op.completion, action)
        if (status) {
          hasTaken = true
          op.resolve({ outcome: 'recorded', status })
        } else if (fenced) answerFenced(op)
        else if (action?.token === op.completion.token && action.status === 'started') again.push(op)
        else {
          isRefused = true
          op.resolve({ outcome: 'refused', action })
        }
        break
      }
      case 'intent': {
        const action = place?.actions.get(op.intent.key)
        if (fenced) answerFenced(op)
        else if (!action) again.push(op)
        else if (action.token === op.intent.token) op.resolve({ outcome: 'sent', id: action.id, orderNo: action.order_no })
        else op.resolve({ outcome: 'exists', action })
        break
      }
      case 'finish':
        if (place && place.epoch === batch.epoch && place.status === op.finish.status) op.resolve({ outcome: 'finished' })
        else if (fenced) answerFenced(op)
        else if (wasLocked && !wasWritten && !hasTaken && !isRefused && place.hasOpen) op.resolve({ outcome: 'open' })
        else again.push(op)
        break
      case 'record': case 'renew':
        if (fenced) answerFenced(op)
        else again.push(op)
    }
  }
  return { again, isRefused }
}

/** The status a completion was recorded as, or undefined when the row does not show it. A verdict somebody else wrote is not this completion. */
function takenAs({ token, outcome }: Completion, action: ActionRow | undefined): 'committed' | 'failed' | 'started' | undefined {
  if (outcome === 'committed') return action?.token === token && action.status === 'committed' ? 'committed' : undefined
  if (action?.token === token && action.status === 'failed') return 'failed'
  return action?.token === null && action.status === 'started' ? 'started' : undefined
}
