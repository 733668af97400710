/** A run and its counts. Values (`input`, `result`, `error`) stay encoded text; who shows them decodes them. */
import { isUuid, RUN_STATUSES, type BlockedReason, type ItemStatus, type RunStatus } from '@pawl/core'
import { and, count, desc, eq, inArray, sql, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { runPolicy, type RunPolicy } from '../rows.ts'
import { items, runs } from '../schema.ts'
import { readsOn } from './database.ts'
import { countFitting, limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'
import { runsWanted, type RunsWanted } from './run-filter.ts'
import { shorten, shownBytes } from './shorten.ts'

/** Work items by status. */
export interface Tally {
  readonly total: number
  readonly pending: number
  readonly inProgress: number
  readonly blocked: number
  readonly done: number
  readonly failed: number
  readonly cancelled: number
  readonly compensated: number
}

export interface RunView {
  readonly id: string
  readonly namespace: string
  readonly agent: string
  readonly agentVersion: string
  readonly modelVersion: string | null
  readonly promptVersion: string | null
  readonly schemaVersion: number
  readonly lockDigest: string | null
  readonly status: RunStatus
  readonly paused: boolean
  /** How often the run was sent round again, 1 for the first time. */
  readonly ending: number
  readonly labels: Readonly<Record<string, string>>
  readonly policy: RunPolicy
  readonly input: string
  readonly result: string | null
  /** JSON of an `ErrorRecord`. */
  readonly error: string | null
  readonly createdBy: string
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly tally: Tally
  /** Items of every kind (split, finalize, compensate and settle among them) that are not ended. */
  readonly open: { readonly pending: number; readonly inProgress: number; readonly blocked: number }
  /** Blocked items of every kind by reason. */
  readonly blockedReasons: Readonly<Partial<Record<BlockedReason, number>>>
}

export interface RunFilter extends PageRequest, RunsWanted {}

interface Counts {
  readonly runId: string
  readonly kind: string
  readonly status: string
  readonly reason: string | null
  readonly n: number
}

const shown = {
  id: runs.id, namespace: runs.namespace, agent: runs.agent, agentVersion: runs.agentVersion,
  modelVersion: runs.modelVersion, promptVersion: runs.promptVersion, schemaVersion: runs.schemaVersion, lockDigest: runs.lockDigest, input: runs.input, labels: runs.labels, policy: runs.policy,
  status: runs.status, paused: runs.paused, ending: runs.ending, createdBy: runs.createdBy, result: runs.result, error: runs.error,
  createdAt: runs.createdAt, startedAt: runs.startedAt, finishedAt: runs.finishedAt,
}

const status = z.enum(RUN_STATUSES)

/** Undefined: no such run in the namespace (null: in any). An id that is no UUID names no run. */
export async function getRun(ledger: Ledger, runId: string, namespace: string | null): Promise<RunView | undefined> {
  if (!isUuid(runId)) return undefined
  const found = await select(ledger, and(eq(runs.id, runId), namespace === null ? undefined : eq(runs.namespace, namespace)), 1)
  return found[0]
}

/** Whether the run is there, and its state, without counting its items. */
export async function readRunState(ledger: Ledger, runId: string, namespace: string | null): Promise<{ status: RunStatus; paused: boolean } | undefined> {
  if (!isUuid(runId)) return undefined
  const [row] = await readsOn(ledger).select({ status: runs.status, paused: runs.paused }).from(runs)
    .where(and(eq(runs.id, runId), namespace === null ? undefined : eq(runs.namespace, namespace)))
  return row === undefined ? undefined : { ...row, status: status.parse(row.status) }
}

const shortBytes = sql<number>`${shownBytes(runs.input)} + ${shownBytes(runs.result)}`.mapWith(Number).as('bytes')

/** Newest first. Big values are left out; a page that is full before its limit holds fewer. */
export async function listRuns(ledger: Ledger, filter: RunFilter): Promise<Page<RunView>> {
  const limit = limitOf(filter)
  const after = placeIn(filter, z.tuple([z.iso.datetime(), z.uuid()]))
  const wanted = and(
    runsWanted(filter),
    after === undefined ? undefined : sql`(${runs.createdAt}, ${runs.id}) < (${after[0]}::text::timestamptz, ${after[1]}::text::uuid)`,
  )
  const sizes = await readsOn(ledger).select({ bytes: shortBytes }).from(runs).where(wanted).orderBy(desc(runs.createdAt), desc(runs.id)).limit(limit)
  if (sizes.length === 0) return { entries: [], cursor: null }
  const most = countFitting(sizes.map(({ bytes }) => bytes))
  const found = await select(ledger, wanted, most + 1)
  return pageOf(found, most, (run) => [run.createdAt.toISOString(), run.id])
}

async function select(ledger: Ledger, where: SQL | undefined, most: number): Promise<RunView[]> {
  const database = readsOn(ledger)
  const columns = most === 1 ? shown : { ...shown, input: shorten<string>(runs.input, 'input'), result: shorten<string | null>(runs.result, 'result') }
  const rows = await database.select(columns).from(runs).where(where).orderBy(desc(runs.createdAt), desc(runs.id)).limit(most)
  if (rows.length === 0) return []
  const counts = await database.select({ runId: items.runId, kind: items.kind, status: items.status, reason: items.blockedReason, n: count().as('n') })
    .from(items).where(inArray(items.runId, rows.map((row) => row.id))).groupBy(items.runId, items.kind, items.status, items.blockedReason)
  return rows.map((row) => ({
    ...row, status: status.parse(row.status), policy: runPolicy.parse(row.policy), ...summarise(counts.filter((each) => each.runId === row.id)),
  }))
}

function summarise(counts: readonly Counts[]): Pick<RunView, 'tally' | 'open' | 'blockedReasons'> {
  const sum = (of: (each: Counts) => boolean): number => counts.reduce((n, each) => n + (of(each) ? each.n : 0), 0)
  const work = (wanted: ItemStatus): number => sum((each) => each.kind === 'work' && each.status === wanted)
  const any = (wanted: ItemStatus): number => sum((each) => each.status === wanted)
  const blockedReasons: Record<string, number> = {}
  for (const each of counts) if (each.reason !== null) blockedReasons[each.reason] = (blockedReasons[each.reason] ?? 0) + each.n
  return {
    tally: {
      total: sum((each) => each.kind === 'work'), pending: work('pending'), inProgress: work('in_progress'), blocked: work('blocked'),
      done: work('done'), failed: work('failed'), cancelled: work('cancelled'), compensated: work('compensated'),
    },
    open: { pending: any('pending'), inProgress: any('in_progress'), blocked: any('blocked') },
    blockedReasons,
  }
}
