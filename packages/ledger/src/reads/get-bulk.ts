/** A bulk operation as it stands. */
import { isUuid } from '@pawl/core'
import { and, asc, desc, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { bulkRuns, bulks, runs } from '../schema.ts'
import { BULK_OUTCOMES, BULK_VERBS, type BulkOutcome, type BulkVerb } from '../verbs/bulks.ts'
import { readsOn } from './database.ts'
import { limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'
import { runsWanted, type RunsWanted } from './run-filter.ts'

export interface BulkView {
  readonly id: string
  readonly verb: BulkVerb
  readonly createdBy: string
  readonly createdAt: Date
  readonly total: number
  /** Runs it was done to, and runs that refused it or were not there; the rest is to come. */
  readonly done: number
  readonly failed: number
}

export interface BulkEntry {
  readonly runId: string
  /** Null: to come. */
  readonly outcome: BulkOutcome | null
  /** The run's status then; of a failure the reason. */
  readonly detail: string | null
}

const words = z.object({ verb: z.enum(BULK_VERBS) })
const outcome = z.enum(BULK_OUTCOMES).nullable()

/** Undefined: no such bulk in the namespace. */
export async function getBulk(ledger: Ledger, id: string, namespace: string): Promise<BulkView | undefined> {
  if (!isUuid(id)) return undefined
  const n = (where: string, name: string) => sql<number>`count(*) filter (where ${sql.raw(where)})`.mapWith(Number).as(name)
  const [row] = await readsOn(ledger).select({
    id: bulks.id, verb: bulks.verb, createdBy: bulks.createdBy, createdAt: bulks.createdAt, total: bulks.total, done: n(`outcome = 'done'`, 'done'), failed: n(`outcome <> 'done'`, 'failed'),
  }).from(bulks).leftJoin(bulkRuns, eq(bulkRuns.bulkId, bulks.id)).where(and(eq(bulks.id, id), eq(bulks.namespace, namespace))).groupBy(bulks.id)
  return row === undefined ? undefined : { ...row, ...words.parse(row) }
}

/** Its runs, in the order in which they are gone through. */
export async function listBulkRuns(ledger: Ledger, id: string, page: PageRequest): Promise<Page<BulkEntry>> {
  const limit = limitOf(page)
  const after = placeIn(page, z.uuid())
  const rows = await readsOn(ledger).select({ runId: bulkRuns.runId, outcome: bulkRuns.outcome, detail: bulkRuns.detail }).from(bulkRuns)
    .where(and(eq(bulkRuns.bulkId, id), after === undefined ? undefined : gt(bulkRuns.runId, after))).orderBy(asc(bulkRuns.runId)).limit(limit + 1)
  return pageOf(rows.map((row) => ({ ...row, outcome: outcome.parse(row.outcome) })), limit, (row) => row.runId)
}

/** Ids of the runs meant, newest first, `most` at most. */
export async function listRunIds(ledger: Ledger, wanted: RunsWanted, most: number): Promise<string[]> {
  return (await readsOn(ledger).select({ id: runs.id }).from(runs).where(runsWanted(wanted)).orderBy(desc(runs.createdAt)).limit(most)).map((row) => row.id)
}
