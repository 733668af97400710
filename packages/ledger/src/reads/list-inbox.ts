/** What waits for a person: actions in doubt, and blocked items whose reason is not answered through an action. Each says which answers it takes now. */
import { BLOCKED_REASONS, ITEM_KINDS, type BlockedReason, type ItemKind } from '@pawl/core'
import { and, asc, eq, ne, sql, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { actions, items, runs } from '../schema.ts'
import { readsOn } from './database.ts'
import { actionView, shortActionColumns, type ActionView } from './list-actions.ts'
import { limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'

export type DoubtAnswer = 'happened' | 'did_not' | 'abandon'
export type ReleaseVerb = 'resume' | 'fail'

export interface InDoubt {
  readonly kind: 'in_doubt'
  readonly runId: string
  readonly agent: string
  readonly itemSeq: number
  readonly itemKey: string
  readonly action: ActionView
  /** Until `answerableAt` only "it happened" is taken: a late send could still follow a no. */
  readonly answers: readonly DoubtAnswer[]
  readonly answerableAt: Date | null
}

export interface BlockedItem {
  readonly kind: 'blocked'
  readonly runId: string
  readonly agent: string
  readonly itemSeq: number
  readonly itemKey: string
  readonly itemKind: ItemKind
  readonly reason: BlockedReason
  readonly detail: string | null
  readonly attempts: number
  readonly failures: number
  readonly verbs: readonly ReleaseVerb[]
}

export type InboxEntry = InDoubt | BlockedItem

export interface InboxFilter extends PageRequest {
  /** Null: every namespace. */
  readonly namespace: string | null
  readonly runId?: string | undefined
}

type Place = readonly ['in_doubt' | 'blocked', string, number]
const place: z.ZodType<Place> = z.tuple([z.enum(['in_doubt', 'blocked']), z.uuid(), z.number().int()])

/** Doubts first, then blocked items. */
export async function listInbox(ledger: Ledger, filter: InboxFilter): Promise<Page<InboxEntry>> {
  const limit = limitOf(filter)
  const after = placeIn(filter, place)
  const doubts = after?.[0] === 'blocked' ? [] : await listDoubts(ledger, filter, after, limit + 1)
  const room = limit + 1 - doubts.length
  const blocked = room === 0 ? [] : await listBlocked(ledger, filter, after?.[0] === 'blocked' ? after : undefined, room)
  return pageOf<InboxEntry>([...doubts, ...blocked], limit, (last) => [last.kind, last.runId, last.kind === 'in_doubt' ? last.action.id : last.itemSeq])
}

const ofRuns = (filter: InboxFilter): SQL | undefined => and(
  filter.namespace === null ? undefined : eq(runs.namespace, filter.namespace),
  filter.runId === undefined ? undefined : eq(runs.id, filter.runId),
)

async function listDoubts(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<InDoubt[]> {
  const rows = await readsOn(ledger).select({
    ...shortActionColumns, agent: runs.agent, itemKey: sql<string>`${items.key}`.as('item_key'), waits: sql<boolean>`coalesce(${actions.answerableAt} > clock_timestamp(), false)`.as('waits'),
  }).from(actions).innerJoin(runs, eq(runs.id, actions.runId)).innerJoin(items, and(eq(items.runId, actions.runId), eq(items.seq, actions.itemSeq))).where(and(
    eq(actions.status, 'in_doubt'), ofRuns(filter),
    after === undefined ? undefined : sql`(${actions.runId}, ${actions.id}) > (${after[1]}::text::uuid, ${after[2]}::bigint)`,
  )).orderBy(asc(actions.runId), asc(actions.id)).limit(most)
  return rows.map(({ agent, itemKey, waits, ...row }) => ({
    kind: 'in_doubt', runId: row.runId, agent, itemSeq: row.itemSeq, itemKey, action: actionView(row), answerableAt: row.answerableAt,
    answers: waits || row.appliedEvidence !== null ? ['happened'] : ['happened', 'did_not', 'abandon'],
  }))
}

const words = z.object({ itemKind: z.enum(ITEM_KINDS), reason: z.enum(BLOCKED_REASONS) })

async function listBlocked(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<BlockedItem[]> {
  const unsettled = sql<boolean>`exists (select 1 from pawl.actions a where a.run_id = ${items.runId} and a.item_seq = ${items.seq} and a.status in ('started', 'in_doubt'))`
  const rows = await readsOn(ledger).select({
    runId: items.runId, agent: runs.agent, itemSeq: items.seq, itemKey: items.key, itemKind: items.kind, reason: items.blockedReason, detail: items.blockedDetail,
    attempts: items.attempts, failures: items.failures, unsettled: unsettled.as('unsettled'),
  }).from(items).innerJoin(runs, eq(runs.id, items.runId)).where(and(
    eq(items.status, 'blocked'), ne(items.blockedReason, 'in_doubt'), ofRuns(filter),
    after === undefined ? undefined : sql`(${items.runId}, ${items.seq}) > (${after[1]}::text::uuid, ${after[2]}::integer)`,
  )).orderBy(asc(items.runId), asc(items.seq)).limit(most)
  return rows.map(({ unsettled: isUnsettled, ...row }) => {
    const { itemKind, reason } = words.parse(row)
    // Of a compensation only the undo it waits for can be given up.
    const mayFail = !isUnsettled && itemKind !== 'settle' && (itemKind !== 'compensate' || reason === 'undo')
    const verbs: ReleaseVerb[] = reason === 'approval' || reason === 'question' ? [] : mayFail ? ['resume', 'fail'] : ['resume']
    return { ...row, kind: 'blocked', itemKind, reason, verbs }
  })
}
