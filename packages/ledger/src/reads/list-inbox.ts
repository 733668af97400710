/** What waits for a person: actions in doubt, calls that need a yes, questions, and blocked items whose reason is not answered through one of these. Each says which answers it takes now. */
import { BLOCKED_REASONS, ITEM_KINDS, type BlockedReason, type ItemKind } from '@pawl/core'
import { and, asc, eq, inArray, notInArray, sql, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { actions, approvals, items, questions, runs } from '../schema.ts'
import { approvalColumns, approvalView, type ApprovalView } from './approval-view.ts'
import { readsOn } from './database.ts'
import { questionColumns, questionView, type QuestionView } from './get-question.ts'
import { actionView, shortActionBytes, shortActionColumns, type ActionView } from './list-actions.ts'
import { countFitting, limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'

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

/** A call that is sent only after a person's yes; also while its item is still parking. */
export interface OpenApproval {
  readonly kind: 'approval'
  readonly runId: string
  readonly agent: string
  readonly itemSeq: number
  readonly itemKey: string
  /** Attempts of the item so far. */
  readonly attempts: number
  readonly approval: ApprovalView
}

/** Asked by an agent, and not answered yet; also while its item is still parking. */
export interface OpenQuestion {
  readonly kind: 'question'
  readonly runId: string
  readonly agent: string
  readonly itemSeq: number
  readonly itemKey: string
  readonly question: QuestionView
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

export type InboxEntry = InDoubt | OpenApproval | OpenQuestion | BlockedItem

export interface InboxFilter extends PageRequest {
  /** Null: every namespace. */
  readonly namespace: string | null
  readonly runId?: string | undefined
}

/** In this order the inbox lists them; within a kind by run, then by number. */
const kinds = ['in_doubt', 'approval', 'question', 'blocked'] as const
type Place = readonly [InboxEntry['kind'], string, number]
const place: z.ZodType<Place> = z.tuple([z.enum(kinds), z.uuid(), z.number().int()])
/** `isCut`: there are more than a page can show; it ends before the last of these. */
interface Listed {
  readonly entries: readonly InboxEntry[]
  readonly isCut?: boolean
}
type Lister = (ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number) => Promise<Listed>
const listers: Readonly<Record<InboxEntry['kind'], Lister>> = { in_doubt: listDoubts, approval: listApprovals, question: listQuestions, blocked: listBlocked }

function numberOf(entry: InboxEntry): number {
  switch (entry.kind) {
    case 'in_doubt': return entry.action.id
    case 'approval': return entry.approval.id
    case 'question': return entry.question.id
    case 'blocked': return entry.itemSeq
  }
}

/** Doubts first, then calls that need a yes, then questions, then blocked items. */
export async function listInbox(ledger: Ledger, filter: InboxFilter): Promise<Page<InboxEntry>> {
  const limit = limitOf(filter)
  const after = placeIn(filter, place)
  const found: InboxEntry[] = []
  let isCut = false
  for (const kind of after === undefined ? kinds : kinds.slice(kinds.indexOf(after[0]))) {
    if (found.length > limit || isCut) break
    const listed = await listers[kind](ledger, filter, after?.[0] === kind ? after : undefined, limit + 1 - found.length)
    found.push(...listed.entries)
    isCut = listed.isCut ?? false
  }
  return pageOf(found, isCut ? found.length - 1 : limit, (last) => [last.kind, last.runId, numberOf(last)])
}

const ofRuns = (filter: InboxFilter): SQL | undefined => and(
  filter.namespace === null ? undefined : eq(runs.namespace, filter.namespace),
  filter.runId === undefined ? undefined : eq(runs.id, filter.runId),
)

async function listDoubts(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<Listed> {
  const of = and(
    eq(actions.status, 'in_doubt'), ofRuns(filter),
    after === undefined ? undefined : sql`(${actions.runId}, ${actions.id}) > (${after[1]}::text::uuid, ${after[2]}::bigint)`,
  )
  const sizes = await readsOn(ledger).select({ bytes: shortActionBytes }).from(actions).innerJoin(runs, eq(runs.id, actions.runId)).where(of).orderBy(asc(actions.runId), asc(actions.id)).limit(most)
  const fitting = countFitting(sizes.map(({ bytes }) => bytes))
  const rows = await readsOn(ledger).select({
    ...shortActionColumns, agent: runs.agent, itemKey: sql<string>`${items.key}`.as('item_key'), waits: sql<boolean>`coalesce(${actions.answerableAt} > clock_timestamp(), false)`.as('waits'),
  }).from(actions).innerJoin(runs, eq(runs.id, actions.runId)).innerJoin(items, and(eq(items.runId, actions.runId), eq(items.seq, actions.itemSeq))).where(of)
    .orderBy(asc(actions.runId), asc(actions.id)).limit(Math.min(fitting + 1, most))
  return {
    entries: rows.map(({ agent, itemKey, waits, ...row }) => ({
      kind: 'in_doubt', runId: row.runId, agent, itemSeq: row.itemSeq, itemKey, action: actionView(row), answerableAt: row.answerableAt,
      answers: waits || row.appliedEvidence !== null ? ['happened'] : ['happened', 'did_not', 'abandon'],
    })),
    isCut: fitting < sizes.length && rows.length > fitting,
  }
}

/** With arguments whole, so few may fill a page. In time only: a request that ran out is asked anew, and then it is here again. */
async function listApprovals(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<Listed> {
  const of = and(
    eq(approvals.status, 'open'), sql`${approvals.expiresAt} > clock_timestamp()`, ofRuns(filter),
    after === undefined ? undefined : sql`(${approvals.runId}, ${approvals.id}) > (${after[1]}::text::uuid, ${after[2]}::bigint)`,
  )
  const sizes = await readsOn(ledger).select({ bytes: sql<number>`octet_length(${actions.args})`.as('bytes') }).from(approvals).innerJoin(runs, eq(runs.id, approvals.runId))
    .innerJoin(actions, and(eq(actions.runId, approvals.runId), eq(actions.id, approvals.actionId))).where(of).orderBy(asc(approvals.runId), asc(approvals.id)).limit(most)
  const fitting = countFitting(sizes.map(({ bytes }) => bytes))
  const rows = await readsOn(ledger).select({ ...approvalColumns, agent: runs.agent, itemKey: sql<string>`${items.key}`.as('item_key'), attempts: items.attempts })
    .from(approvals).innerJoin(runs, eq(runs.id, approvals.runId)).innerJoin(actions, and(eq(actions.runId, approvals.runId), eq(actions.id, approvals.actionId)))
    .innerJoin(items, and(eq(items.runId, approvals.runId), eq(items.seq, approvals.itemSeq))).where(of).orderBy(asc(approvals.runId), asc(approvals.id)).limit(Math.min(fitting + 1, most))
  return {
    entries: rows.map(({ agent, itemKey, attempts, ...row }) => ({ kind: 'approval', runId: row.runId, agent, itemSeq: row.itemSeq, itemKey, attempts, approval: approvalView(row) })),
    isCut: fitting < sizes.length && rows.length > fitting,
  }
}

/** Of live items only: what an ended item once asked needs no answer, unless the run is resumed. */
async function listQuestions(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<Listed> {
  const rows = await readsOn(ledger).select({ ...questionColumns, agent: runs.agent, itemKey: sql<string>`${items.key}`.as('item_key') })
    .from(questions).innerJoin(runs, eq(runs.id, questions.runId)).innerJoin(items, and(eq(items.runId, questions.runId), eq(items.seq, questions.itemSeq))).where(and(
      eq(questions.status, 'open'), inArray(items.status, ['pending', 'in_progress', 'blocked']), ofRuns(filter),
      after === undefined ? undefined : sql`(${questions.runId}, ${questions.id}) > (${after[1]}::text::uuid, ${after[2]}::bigint)`,
    )).orderBy(asc(questions.runId), asc(questions.id)).limit(most)
  return { entries: rows.map(({ agent, itemKey, ...row }) => ({ kind: 'question', runId: row.runId, agent, itemSeq: row.itemSeq, itemKey, question: questionView(row) })) }
}

const words = z.object({ itemKind: z.enum(ITEM_KINDS), reason: z.enum(BLOCKED_REASONS) })

async function listBlocked(ledger: Ledger, filter: InboxFilter, after: Place | undefined, most: number): Promise<Listed> {
  const unsettled = sql<boolean>`exists (select 1 from pawl.actions a where a.run_id = ${items.runId} and a.item_seq = ${items.seq} and a.status in ('started', 'in_doubt'))`
  const rows = await readsOn(ledger).select({
    runId: items.runId, agent: runs.agent, itemSeq: items.seq, itemKey: items.key, itemKind: items.kind, reason: items.blockedReason, detail: items.blockedDetail,
    attempts: items.attempts, failures: items.failures, unsettled: unsettled.as('unsettled'),
  }).from(items).innerJoin(runs, eq(runs.id, items.runId)).where(and(
    eq(items.status, 'blocked'), notInArray(items.blockedReason, ['in_doubt', 'approval', 'question']), ofRuns(filter),
    after === undefined ? undefined : sql`(${items.runId}, ${items.seq}) > (${after[1]}::text::uuid, ${after[2]}::integer)`,
  )).orderBy(asc(items.runId), asc(items.seq)).limit(most)
  return { entries: rows.map(({ unsettled: isUnsettled, ...row }) => {
    const { itemKind, reason } = words.parse(row)
    // Of a compensation only the undo it waits for can be given up.
    const mayFail = !isUnsettled && itemKind !== 'settle' && (itemKind !== 'compensate' || reason === 'undo')
    const verbs: ReleaseVerb[] = mayFail ? ['resume', 'fail'] : ['resume']
    return { ...row, kind: 'blocked', itemKind, reason, verbs }
  }) }
}
