/** The facts a dry run speaks about: what is committed, unsettled, undoable or without an inverse. Reads only; nothing of it decides. */
import { ACTION_STATUSES, EFFECTS, isUuid } from '@pawl/core'
import { and, asc, desc, eq, inArray, isNotNull, isNull, ne, or, sql, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { actions, items } from '../schema.ts'
import { readsOn } from './database.ts'

/** All that says what becomes of an unsettled call. */
const kind = z.object({
  tool: z.string(), toolVersion: z.string(), effect: z.enum(EFFECTS), status: z.enum(ACTION_STATUSES),
  /** It takes another call back. */
  isUndo: z.boolean(),
  /** Its result came too late for its own completion: it happened. */
  isProved: z.boolean(),
  isKeyExpired: z.boolean(),
})
export type UnsettledKind = z.infer<typeof kind>

const previewed = kind.extend({ id: z.number(), itemSeq: z.number(), key: z.string() })
/** A call by name: its values are not looked at. */
export type PreviewedAction = z.infer<typeof previewed>

/** The first of them, and how many there are. */
export interface Sample {
  readonly total: number
  readonly actions: readonly PreviewedAction[]
}

export interface PreviewFacts {
  /** Committed calls of items that are not done: they return their recorded result. */
  readonly committedInOpenItems: number
  /** A split that was stopped or failed: a resume sends it round again, too. 0 or 1. */
  readonly stoppedSplits: number
  readonly unsettled: Sample
  /** All of them, also those that are not among the first. */
  readonly unsettledByKind: readonly (UnsettledKind & { readonly n: number })[]
  /** Newest first: the order of undoing. */
  readonly undoable: Sample
  /** Committed writes without an inverse, and abandoned calls. */
  readonly residue: Sample
  /** Refused calls that are the last thing a failed item did: sent again by a resume. */
  readonly lastRefused: Sample
}

const most = 1_000

const kindColumns = {
  tool: actions.tool, toolVersion: actions.toolVersion, effect: actions.effect, status: actions.status,
  isUndo: sql<boolean>`${actions.undoes} is not null`.as('is_undo'), isProved: sql<boolean>`${actions.appliedEvidence} is not null`.as('is_proved'),
  isKeyExpired: sql<boolean>`coalesce(${actions.keyExpiresAt} < clock_timestamp(), false)`.as('is_key_expired'),
}
const columns = { ...kindColumns, id: actions.id, itemSeq: actions.itemSeq, key: actions.key }
const count = sql<number>`count(*)`.mapWith(Number).as('n')

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
      database.select({ n: count }).from(actions).where(and(ofRun, where)),
      database.select(columns).from(actions).where(and(ofRun, where)).orderBy(newestFirst ? desc(actions.orderNo) : asc(actions.orderNo)).limit(most),
    ])
    return { total: counted?.n ?? 0, actions: rows.map((row) => previewed.parse(row)) }
  }
  const isWrite = and(isNull(actions.undoes), ne(actions.effect, 'read'))
  const isUnsettled = inArray(actions.status, ['started', 'in_doubt'])
  const [[committed], [splits], unsettled, byKind, undoable, residue, lastRefused] = await Promise.all([
    database.select({ n: count }).from(actions).where(and(ofRun, eq(actions.status, 'committed'), isNull(actions.undoes), isOpenItem)),
    database.select({ n: count }).from(items).where(and(eq(items.runId, runId), eq(items.kind, 'split'), inArray(items.status, ['failed', 'cancelled']))),
    sample(isUnsettled),
    database.select({ ...kindColumns, n: count }).from(actions).where(and(ofRun, isUnsettled)).groupBy(sql`1, 2, 3, 4, 5, 6, 7`),
    sample(and(isWrite, eq(actions.status, 'committed'), isNotNull(actions.undo)), true),
    sample(and(isWrite, or(and(eq(actions.status, 'committed'), isNull(actions.undo)), eq(actions.status, 'abandoned')))),
    sample(and(eq(actions.status, 'failed'), inArray(actions.itemSeq, failedItems), isLast)),
  ])
  return {
    committedInOpenItems: committed?.n ?? 0, stoppedSplits: splits?.n ?? 0, unsettled, unsettledByKind: byKind.map(({ n, ...row }) => ({ ...kind.parse(row), n })), undoable, residue, lastRefused,
  }
}
