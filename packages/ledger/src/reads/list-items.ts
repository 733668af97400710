import { ITEM_KINDS, ITEM_STATUSES, BLOCKED_REASONS, isUuid, type BlockedReason, type ItemKind, type ItemStatus } from '@pawl/core'
import { and, asc, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { items } from '../schema.ts'
import { readsOn } from './database.ts'
import { countFitting, limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'
import { shorten, shownBytes } from './shorten.ts'

export interface ItemView {
  readonly runId: string
  readonly seq: number
  readonly kind: ItemKind
  readonly key: string
  readonly payload: string
  readonly status: ItemStatus
  readonly blockedReason: BlockedReason | null
  /** JSON: what is shown beside the reason. */
  readonly blockedDetail: string | null
  readonly attempts: number
  readonly failures: number
  readonly epoch: number
  readonly workerId: string | null
  readonly leaseUntil: Date | null
  readonly generation: number
  readonly dispatchedAt: Date | null
  readonly availableAt: Date
  readonly result: string | null
  readonly resultRef: string | null
  readonly error: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface ItemFilter extends PageRequest {
  readonly status?: ItemStatus | undefined
  readonly kind?: ItemKind | undefined
}

export const itemColumns = {
  runId: items.runId, seq: items.seq, kind: items.kind, key: items.key, payload: items.payload, status: items.status, blockedReason: items.blockedReason,
  blockedDetail: items.blockedDetail, attempts: items.attempts, failures: items.failures, epoch: items.epoch, workerId: items.workerId, leaseUntil: items.leaseUntil,
  generation: items.generation, dispatchedAt: items.dispatchedAt, availableAt: items.availableAt, result: items.result, resultRef: items.resultRef, error: items.error,
  createdAt: items.createdAt, startedAt: items.startedAt, finishedAt: items.finishedAt,
}
const words = z.object({ kind: z.enum(ITEM_KINDS), status: z.enum(ITEM_STATUSES), blockedReason: z.enum(BLOCKED_REASONS).nullable() })

export const itemView = <R extends { kind: string; status: string; blockedReason: string | null }>(row: R): R & z.infer<typeof words> => ({ ...row, ...words.parse(row) })

const shortColumns = { ...itemColumns, payload: shorten<string>(items.payload, 'payload'), result: shorten<string | null>(items.result, 'result') }
const shortBytes = sql<number>`${shownBytes(items.payload)} + ${shownBytes(items.result)}`.mapWith(Number).as('bytes')

/** Of one run, by `seq`. Big values are left out; a page that is full before its limit holds fewer. */
export async function listItems(ledger: Ledger, runId: string, filter: ItemFilter = {}): Promise<Page<ItemView>> {
  const limit = limitOf(filter)
  const after = placeIn(filter, z.number().int())
  if (!isUuid(runId)) return { entries: [], cursor: null }
  const wanted = and(
    eq(items.runId, runId),
    filter.status === undefined ? undefined : eq(items.status, filter.status),
    filter.kind === undefined ? undefined : eq(items.kind, filter.kind),
    after === undefined ? undefined : gt(items.seq, after),
  )
  const sizes = await readsOn(ledger).select({ bytes: shortBytes }).from(items).where(wanted).orderBy(asc(items.seq)).limit(limit)
  const most = countFitting(sizes.map(({ bytes }) => bytes))
  const rows = await readsOn(ledger).select(shortColumns).from(items).where(wanted).orderBy(asc(items.seq)).limit(most + 1)
  return pageOf(rows.map(itemView), most, (item) => item.seq)
}

export async function getItem(ledger: Ledger, runId: string, seq: number): Promise<ItemView | undefined> {
  if (!isUuid(runId) || !Number.isInteger(seq) || seq < 0 || seq > 2_147_483_647) return undefined
  const [row] = await readsOn(ledger).select(itemColumns).from(items).where(and(eq(items.runId, runId), eq(items.seq, seq)))
  return row === undefined ? undefined : itemView(row)
}
