/**
 * One item's part of a flush: its operations folded into one row, and what the answer, or the rows themselves, say about each of them.
 * Pure but for answering whoever waits.
 */
import { placeOf, placeOfKey, placeOfTurn, type Completion, type Finish, type FlushAnswer, type Intent, type ItemRef, type Turn, type Want } from './flush.ts'
import type { Place, readPlace } from './read-place.ts'
import type { ActionRow, TurnRow } from './rows.ts'

export type IntentAnswer =
  | { readonly outcome: 'sent'; readonly id: number; readonly orderNo: number }
  | { readonly outcome: 'exists'; readonly action: ActionRow }
  | { readonly outcome: 'fenced' }
/** `recorded` with `started`: this send is proved not applied, an earlier one is not. `refused`: another hand settled the action. */
export type CompletionAnswer =
  | { readonly outcome: 'recorded'; readonly status: 'committed' | 'failed' | 'started' }
  | { readonly outcome: 'refused'; readonly action: ActionRow | undefined }
  | { readonly outcome: 'fenced' }
/** `exists`: the number is taken by another decision, which holds; nothing this attempt wants after it is written. */
export type TurnAnswer =
  | { readonly outcome: 'recorded' }
  | { readonly outcome: 'exists'; readonly turn: TurnRow }
  | { readonly outcome: 'fenced' }
export type FinishAnswer = { readonly outcome: 'finished' | 'open' | 'fenced' }
export type HoldAnswer = { readonly outcome: 'held' | 'fenced' }

interface Waiting<T> {
  resolve(answer: T): void
  reject(error: unknown): void
}
export type Op =
  | ({ readonly kind: 'intent'; readonly intent: Intent } & Waiting<IntentAnswer>)
  | ({ readonly kind: 'completion'; readonly completion: Completion } & Waiting<CompletionAnswer>)
  | ({ readonly kind: 'turn'; readonly turn: Turn } & Waiting<TurnAnswer>)
  | ({ readonly kind: 'record'; readonly record: { name: string; value: string } } & Waiting<HoldAnswer>)
  | ({ readonly kind: 'finish'; readonly finish: Finish } & Waiting<FinishAnswer>)
  | ({ readonly kind: 'renew' } & Waiting<HoldAnswer>)

export interface Batch {
  readonly item: ItemRef
  readonly epoch: number
  ops: Op[]
  /** Somebody holds the item's row: not written again before (`performance.now()`). */
  notBefore?: number
}

export function rejectAll(batch: Batch, error: unknown): void {
  for (const op of batch.ops) op.reject(error)
}

export function answerFenced(op: Op): void {
  op.resolve({ outcome: 'fenced' })
}

/** What has to be read to decide about a batch. */
export const questionOf = ({ item, epoch, ops }: Batch): Parameters<typeof readPlace>[1][number] => ({
  item, epoch,
  keys: ops.flatMap((op) => (op.kind === 'intent' ? [op.intent.key] : op.kind === 'completion' ? [op.completion.key] : [])),
  turns: ops.flatMap((op) => (op.kind === 'turn' ? [op.turn.n] : [])),
})

export function sizeOf(batch: Batch): number {
  let bytes = 200
  for (const op of batch.ops) {
    if (op.kind === 'completion') bytes += op.completion.result?.length ?? 0
    else if (op.kind === 'intent') bytes += op.intent.args.length
    else if (op.kind === 'turn') bytes += op.turn.decision.length
    else if (op.kind === 'record') bytes += op.record.value.length
  }
  return bytes
}

/** A finish never rides with a turn or an intent: written again after a lost answer, it could be judged by a snapshot older than these. */
export function wantOf({ item, epoch, ops }: Batch): Want {
  const hasNew = ops.some((op) => op.kind === 'intent' || op.kind === 'turn')
  return {
    item,
    epoch,
    completions: ops.flatMap((op) => (op.kind === 'completion' ? [op.completion] : [])),
    turns: ops.flatMap((op) => (op.kind === 'turn' ? [op.turn] : [])),
    intents: ops.flatMap((op) => (op.kind === 'intent' ? [op.intent] : [])),
    records: ops.flatMap((op) => (op.kind === 'record' ? [op.record] : [])),
    finish: hasNew ? undefined : ops.findLast((op) => op.kind === 'finish')?.finish,
  }
}

/** Answers what the flush answered in full; false when something of the batch has to be read. */
export function settleFromAnswer(batch: Batch, answer: FlushAnswer): boolean {
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
      case 'turn':
        if (!answer.turned.has(placeOfTurn(batch.item, op.turn.n))) return true
        op.resolve({ outcome: 'recorded' })
        return false
      case 'finish':
        if (op.finish !== finish) return true
        op.resolve({ outcome: 'finished' })
        return false
      case 'record': case 'renew': op.resolve({ outcome: 'held' }); return false
    }
  })
  return batch.ops.length === 0
}

/** Decides from the rows themselves what holds. Returns what has to be written again, and whether a completion or turn was refused: then nothing is. */
export function settleFromPlace(batch: Batch, place: Place | undefined, wasLocked: boolean, wasWritten: boolean): { again: Op[]; isRefused: boolean } {
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
      case 'turn': {
        const turn = place?.turns.get(op.turn.n)
        if (turn?.epoch === batch.epoch && turn.decision === op.turn.decision) op.resolve({ outcome: 'recorded' })
        else if (fenced) answerFenced(op)
        else if (!turn) again.push(op)
        else {
          isRefused = true
          op.resolve({ outcome: 'exists', turn })
        }
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
