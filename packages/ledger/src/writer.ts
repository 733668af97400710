/**
 * One writer per worker process. Calls enqueue; while one flush is on the wire the next gathers, so rows of one item are in at most one flush.
 * An item's completions, turns, intents, records and finish that meet in the queue are folded into one row of the flush: a completion rides with the
 * next intent, and nothing is sent before both are durable.
 *
 * What a missing row means is read from the ledger, never guessed: fenced (the attempt is over), busy (written again), a key that exists,
 * or a lost answer (written again with the same token, then read). A batch the database refuses is split by item, never by row.
 */
import { flush, placeOf, type Completion, type Finish, type FlushAnswer, type Intent, type ItemRef, type Turn } from './flush.ts'
import type { Ledger } from './connect.ts'
import type { History } from './history.ts'
import { isPassing } from './passing-error.ts'
import { readPlace, type Place } from './read-place.ts'
import {
  answerFenced, rejectAll, settleFromAnswer, settleFromPlace, sizeOf, wantOf, questionOf,
  type Batch, type CompletionAnswer, type FinishAnswer, type HoldAnswer, type IntentAnswer, type Op, type TurnAnswer,
} from './writer-batch.ts'

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
  /** Attempts one of whose completions or turns was refused: what they want after it rests on something the ledger does not have. */
  #refused = new Set<string>()

  constructor(private readonly ledger: Ledger, private readonly options: WriterOptions) {}

  intent(item: ItemRef, epoch: number, intent: Intent): Promise<IntentAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'intent', intent, resolve, reject }))
  }

  completion(item: ItemRef, epoch: number, completion: Completion): Promise<CompletionAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'completion', completion, resolve, reject }))
  }

  /** Calls enqueued after it, in the same tick, ride with it: none of them is sent before it is durable. */
  turn(item: ItemRef, epoch: number, turn: Turn): Promise<TurnAnswer> {
    return new Promise((resolve, reject) => this.#add(item, epoch, { kind: 'turn', turn, resolve, reject }))
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
      places = await readPlace(this.ledger, batches.map(questionOf))
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
