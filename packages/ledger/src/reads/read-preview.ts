/** The facts a dry run speaks about: what is committed, unsettled, undoable or without an inverse. Reads only; nothing of it decides. */
import { isUuid } from '@pawl/core'
import { and, asc, desc, eq, inArray, isNotNull, isNull, ne, or, sql, type SQL } from 'drizzle-orm'
import type { Ledger } from '../connect.ts'
import { actions, items } from '../schema.ts'
import { readsOn } from './database.ts'
import { actionView, shortActionColumns, type ActionView } from './list-actions.ts'

/** The first of them, and how many there are. */
export interface Sample {
  readonly total: number
  readonly actions: readonly ActionView[]
}

export interface PreviewFacts {
  /** Committed calls of items that are not done: they return their recorded result. */
  readonly committedInOpenItems: number
  /** A split that was stopped or failed: a resume sends it round again, too. 0 or 1. */
  readonly stoppedSplits: number
  readonly unsettled: Sample
  /** Newest first: the order of undoing. */
  readonly undoable: Sample
  /** Committed writes without an inverse, and abandoned calls. */
  readonly residue: Sample
  /** Refused calls that are the last thing a failed item did: sent again by a resume. */
  readonly lastRefused: Sample
  readonly keysExpired: ReadonlySet<number>
}

const most = 1_000

export async function readPreview(ledger: Ledger, runId: string): Promise<PreviewFacts> {
  if (!isUuid(runId)) throw new TypeError('not a run id')
  const database = readsOn(ledger)
  const ofRun = eq(actions.runId, runId)
  const isOpenItem = sql`exists (select 1 from pawl.items i where i.run_id = ${actions.runId} and i.seq = ${actions.itemSeq} and i.status <> 'done')`
  const isLast = sql`not exists (select 1 from pawl.actions b where b.run_id = ${actions.runId} and b.item_seq = ${actions.itemSeq} and b.order_no > ${actions.orderNo})
    and not exists (select 1 from pawl.records c where c.run_id = ${actions.runId} and c.item_seq = ${actions.itemSeq} and c.order_no > ${actions.orderNo})`
  const failedItems = database.select({ seq: items.seq }).from(items).where(and(eq(items.runId, runId), inArray(items.kind, ['work', 'finalize']), inArray(items.status, ['failed', 'cancelled'])))
  const sample = async (where: SQL | undefined, newestFirst = false): Promise<Sample> => {
    const [[counted], rows] = await Promise.all([
      database.select({ n: sql<number>`count(*)`.mapWith(Number).as('n') }).from(actions).where(and(ofRun, where)),
      database.select(shortActionColumns).from(actions).where(and(ofRun, where)).orderBy(newestFirst ? desc(actions.orderNo) : asc(actions.orderNo)).limit(most),
    ])
    return { total: counted?.n ?? 0, actions: rows.map(actionView) }
  }
  const isWrite = and(isNull(actions.undoes), ne(actions.effect, 'read'))
  const [[committed], [splits], unsettled, undoable, residue, lastRefused, expired] = await Promise.all([
    database.select({ n: sql<number>`count(*)`.mapWith(Number).as('n') }).from(actions).where(and(ofRun, eq(actions.status, 'committed'), isNull(actions.undoes), isOpenItem)),
    database.select({ n: sql<number>`count(*)`.mapWith(Number).as('n') }).from(items).where(and(eq(items.runId, runId), eq(items.kind, 'split'), inArray(items.status, ['failed', 'cancelled']))),
    sample(inArray(actions.status, ['started', 'in_doubt'])),
    sample(and(isWrite, eq(actions.status, 'committed'), isNotNull(actions.undo)), true),
    sample(and(isWrite, or(and(eq(actions.status, 'committed'), isNull(actions.undo)), eq(actions.status, 'abandoned')))),
    sample(and(eq(actions.status, 'failed'), inArray(actions.itemSeq, failedItems), isLast)),
    database.select({ id: actions.id }).from(actions).where(and(ofRun, inArray(actions.status, ['started', 'in_doubt']), sql`${actions.keyExpiresAt} < clock_timestamp()`)),
  ])
  return { committedInOpenItems: committed?.n ?? 0, stoppedSplits: splits?.n ?? 0, unsettled, undoable, residue, lastRefused, keysExpired: new Set(expired.map((row) => row.id)) }
}
