/**
 * What stands in front of somebody who decides must not change under their eyes, nor move under their hand. The list is therefore held as it was first
 * shown: what comes later is appended, what is gone stays in its place and says so, and what became another call is named as changed and has to be
 * read before it can be answered. Pure.
 */
import type { InboxItem } from '@pawl/client/http'

export interface Held {
  readonly id: string
  /** As it was shown; answers are about this. */
  readonly entry: InboxItem
  /** As it is now; undefined: it no longer waits. */
  readonly now: InboxItem | undefined
}

/** A call that takes the place of one that was not made has its key with `~2`, `~3`, …: to whoever looks it is the same thing to decide, changed. */
const meaningOf = (key: string): string => key.replace(/~\d+$/, '')

export function idOf(entry: InboxItem): string {
  switch (entry.kind) {
    case 'in_doubt': return `action-${entry.runId}-${entry.action.id}`
    case 'approval': return `approval-${entry.runId}-${meaningOf(entry.approval.key)}`
    case 'question': return `question-${entry.runId}-${entry.question.id}`
    case 'blocked': return `item-${entry.runId}-${entry.itemSeq}`
  }
}

/** What an answer is bound to: two entries alike in it are the same thing to decide. */
export function boundTo(entry: InboxItem): string {
  switch (entry.kind) {
    case 'in_doubt': return `${entry.action.attempt} ${entry.action.evidence.length} ${entry.action.appliedEvidence !== null}`
    case 'approval': return entry.approval.digest
    case 'question': return entry.question.question
    case 'blocked': return `${entry.reason} ${JSON.stringify(entry.detail)}`
  }
}

/** @param isWhole whether `fresh` is everything that waits: else what is not in it may only be on a later page. */
export function hold(held: readonly Held[], fresh: readonly InboxItem[], isWhole: boolean): readonly Held[] {
  const byId = new Map(fresh.map((entry) => [idOf(entry), entry]))
  const kept = held.map((one): Held => {
    const now = byId.get(one.id)
    byId.delete(one.id)
    if (now === undefined) return isWhole && one.now !== undefined ? { ...one, now: undefined } : one
    // Nothing to read anew: only times and counts moved on.
    return one.now !== undefined && boundTo(one.entry) === boundTo(now) ? { ...one, entry: now, now } : { ...one, now }
  })
  return [...kept, ...[...byId].map(([id, entry]) => ({ id, entry, now: entry }))]
}

export const isChanged = ({ entry, now }: Held): boolean => now !== undefined && boundTo(entry) !== boundTo(now)
/** Somebody has read it as it is now. */
export const read = (held: readonly Held[], id: string): readonly Held[] => held.map((one) => (one.id === id && one.now !== undefined ? { ...one, entry: one.now } : one))
export const tidy = (held: readonly Held[]): readonly Held[] => held.filter(({ now }) => now !== undefined)

export interface Group {
  readonly runId: string
  readonly tool: string
  readonly held: readonly Held[]
}

/** Calls of one tool in one run, where there is more than one: they may be decided together, each by its own digest. */
export function groupCalls(held: readonly Held[]): readonly Group[] {
  const groups = new Map<string, Held[]>()
  for (const one of held) {
    if (one.entry.kind !== 'approval' || one.now === undefined || isChanged(one)) continue
    const name = `${one.entry.runId} ${one.entry.approval.tool}`
    groups.set(name, [...(groups.get(name) ?? []), one])
  }
  return [...groups.values()].flatMap((calls): Group[] => {
    const [first] = calls
    return first?.entry.kind === 'approval' && calls.length > 1 ? [{ runId: first.entry.runId, tool: first.entry.approval.tool, held: calls }] : []
  })
}
