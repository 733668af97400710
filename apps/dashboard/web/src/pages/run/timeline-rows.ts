/** The rows of a waterfall: each item with its attempts, below it its calls. Pure. */
import type { Action } from '@pawl/client/http'

export interface ItemRow { readonly kind: 'item'; readonly seq: number; readonly calls: number }
export interface CallRow { readonly kind: 'call'; readonly action: Action }
export type TimelineRow = ItemRow | CallRow

export interface Span { readonly from: number; readonly to: number }

/** Items in the order of their first call here. */
export function rowsOf(actions: readonly Action[]): TimelineRow[] {
  const bySeq = new Map<number, Action[]>()
  for (const action of actions) bySeq.set(action.itemSeq, [...(bySeq.get(action.itemSeq) ?? []), action])
  return [...bySeq].flatMap(([seq, calls]): TimelineRow[] => [{ kind: 'item', seq, calls: calls.length }, ...calls.map((action): CallRow => ({ kind: 'call', action }))])
}

/** From the first start to the last end; a call under way ends now. Never empty. */
export function spanOf(actions: readonly Action[], now: number): Span {
  const from = Math.min(...actions.map(({ startedAt }) => startedAt.getTime()))
  const to = Math.max(...actions.map((action) => endOf(action, now)))
  return Number.isFinite(from) ? { from, to: Math.max(to, from + 1) } : { from: now - 1, to: now }
}

export const isUnderWay = ({ status, committedAt }: Action): boolean => committedAt === null && status === 'started'

/** What never committed has no end on record; it is drawn as the moment of its start. */
export const endOf = (action: Action, now: number): number => action.committedAt?.getTime() ?? (isUnderWay(action) ? now : action.startedAt.getTime())

/** In per cent of the span, cut to it. */
export function placeOf(at: number, { from, to }: Span): number {
  return Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100))
}
