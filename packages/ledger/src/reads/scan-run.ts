/**
 * Everything the ledger has of a run, kind by kind, values whole, a page of at most some megabytes in memory whatever the run's size. Each row is as it is
 * when its page is read: one snapshot over all of it would have to be held open for as long as the reader takes. Of an ended run that is the same.
 */
import { and, asc, eq, gt, sql, type SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Ledger } from '../connect.ts'
import { actions, approvals, events, items, questions, records, turns } from '../schema.ts'
import { approvalColumns, approvalView, type ApprovalView } from './approval-view.ts'
import { readsOn } from './database.ts'
import { questionColumns, questionView, type QuestionView } from './get-question.ts'
import { actionColumns, actionView, type ActionView } from './list-actions.ts'
import type { EventView } from './list-events.ts'
import { itemColumns, itemView, type ItemView } from './list-items.ts'
import type { TurnView } from './list-turns.ts'
import { countFitting } from './pages.ts'
import { wholeBytes, wholeBytesOfEach } from './shorten.ts'

export interface RecordView {
  readonly runId: string
  readonly itemSeq: number
  readonly name: string
  readonly orderNo: number
  /** Encoded. */
  readonly value: string
  readonly at: Date
}

/** Its decision whole, whatever its size. */
export interface ScannedTurn extends TurnView {
  readonly runId: string
  readonly itemSeq: number
  readonly orderNo: number
}

export type ScannedRow =
  | { readonly kind: 'item'; readonly row: ItemView }
  | { readonly kind: 'action'; readonly row: ActionView }
  | { readonly kind: 'turn'; readonly row: ScannedTurn }
  | { readonly kind: 'record'; readonly row: RecordView }
  | { readonly kind: 'question'; readonly row: QuestionView }
  | { readonly kind: 'approval'; readonly row: ApprovalView }
  | { readonly kind: 'event'; readonly row: EventView }

const mostRows = 500
/** What every row takes besides its texts. */
const rowBytes = sql.raw('1000')
const actionBytes = sql`${wholeBytes(actions.args, actions.result, actions.undo, actions.appliedEvidence, actions.error)} + ${wholeBytesOfEach(actions.evidence)}`
/** An approval shows the arguments of its call. */
const approvalBytes = sql`coalesce((select octet_length(a.args) from pawl.actions a where a.run_id = approvals.run_id and a.id = approvals.action_id), 0)`

export async function* scanRun(ledger: Ledger, runId: string): AsyncGenerator<ScannedRow, void, undefined> {
  const database = readsOn(ledger)
  for await (const row of scan<ItemView>(ledger, { table: items, runId, place: items.seq, bytes: wholeBytes(items.payload, items.result, items.blockedDetail, items.error) }, async (where, n) =>
    (await database.select(itemColumns).from(items).where(where).orderBy(asc(items.seq)).limit(n)).map(itemView), (item) => item.seq)) yield { kind: 'item', row }
  for await (const row of scan<ActionView>(ledger, { table: actions, runId, place: actions.id, bytes: actionBytes }, async (where, n) =>
    (await database.select(actionColumns).from(actions).where(where).orderBy(asc(actions.id)).limit(n)).map(actionView), (action) => action.id)) yield { kind: 'action', row }
  for await (const row of scan<ScannedTurn>(ledger, { table: turns, runId, place: turns.orderNo, bytes: wholeBytes(turns.decision) }, async (where, n) =>
    await database.select().from(turns).where(where).orderBy(asc(turns.orderNo)).limit(n), (turn) => turn.orderNo)) yield { kind: 'turn', row }
  for await (const row of scan<RecordView>(ledger, { table: records, runId, place: records.orderNo, bytes: wholeBytes(records.value) }, async (where, n) =>
    await database.select().from(records).where(where).orderBy(asc(records.orderNo)).limit(n), (record) => record.orderNo)) yield { kind: 'record', row }
  for await (const row of scan<QuestionView>(ledger, { table: questions, runId, place: questions.id, bytes: wholeBytes(questions.question, questions.answerSchema, questions.answer) }, async (where, n) =>
    (await database.select(questionColumns).from(questions).where(where).orderBy(asc(questions.id)).limit(n)).map(questionView), (question) => question.id)) yield { kind: 'question', row }
  for await (const row of scan<ApprovalView>(ledger, { table: approvals, runId, place: approvals.id, bytes: approvalBytes }, async (where, n) =>
    (await database.select(approvalColumns).from(approvals).innerJoin(actions, and(eq(actions.runId, approvals.runId), eq(actions.id, approvals.actionId))).where(where).orderBy(asc(approvals.id)).limit(n))
      .map(approvalView), (approval) => approval.id)) yield { kind: 'approval', row }
  for await (const row of scan<EventView>(ledger, { table: events, runId, place: events.id, bytes: sql`octet_length(${events.data}::text)` }, async (where, n) =>
    await database.select().from(events).where(where).orderBy(asc(events.id)).limit(n), (event) => event.id)) yield { kind: 'event', row }
}

interface Scanned {
  readonly table: PgTable & { readonly runId: PgColumn }
  readonly runId: string
  /** Grows with every row of a run; pages go by it. */
  readonly place: PgColumn
  readonly bytes: SQL
}

/** How many rows fit is asked first: a page of 500 rows of 10 MB each would not fit into the process. */
async function* scan<Row>(ledger: Ledger, { table, runId, place, bytes }: Scanned, read: (where: SQL | undefined, n: number) => Promise<Row[]>, placeOf: (row: Row) => number): AsyncGenerator<Row, void, undefined> {
  let after: number | undefined
  for (;;) {
    const where = and(eq(table.runId, runId), after === undefined ? undefined : gt(place, after))
    const sizes = await readsOn(ledger).select({ bytes: sql<number>`${rowBytes} + ${bytes}`.mapWith(Number).as('bytes') }).from(table).where(where).orderBy(asc(place)).limit(mostRows)
    if (sizes.length === 0) return
    const rows = await read(where, countFitting(sizes.map((size) => size.bytes)))
    const last = rows.at(-1)
    if (last === undefined) return
    yield* rows
    after = placeOf(last)
  }
}
