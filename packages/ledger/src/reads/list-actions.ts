import { ACTION_STATUSES, EFFECTS, isUuid, type ActionStatus, type Effect } from '@pawl/core'
import { and, asc, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { actions } from '../schema.ts'
import { readsOn } from './database.ts'
import { countFitting, limitOf, pageOf, placeIn, type Page, type PageRequest } from './pages.ts'
import { shorten, shortenEach, shownBytes, shownBytesOfEach } from './shorten.ts'

export interface ActionView {
  readonly runId: string
  readonly id: number
  /** Undo goes by this order, newest first. */
  readonly orderNo: number
  readonly itemSeq: number
  readonly key: string
  readonly tool: string
  readonly toolVersion: string
  readonly effect: Effect
  readonly status: ActionStatus
  /** Sends under this key, the current one included. */
  readonly attempt: number
  readonly sends: number
  readonly refused: number
  readonly args: string
  readonly result: string | null
  readonly evidence: readonly string[]
  /** The result an earlier holder brought too late for its own completion: proof that the call happened. */
  readonly appliedEvidence: string | null
  readonly error: string | null
  readonly undo: string | null
  /** The action this one is the inverse of. */
  readonly undoes: number | null
  readonly settledBy: string | null
  readonly timeoutMs: number
  readonly keyExpiresAt: Date | null
  readonly answerableAt: Date | null
  readonly startedAt: Date
  readonly committedAt: Date | null
}

export interface ActionFilter extends PageRequest {
  readonly itemSeq?: number | undefined
  readonly status?: ActionStatus | undefined
}

/** As JSON: drizzle's own reading of array literals drops every backslash. */
const asTexts = (column: typeof actions.evidence) => sql<string[]>`to_json(${column})`

export const actionColumns = {
  runId: actions.runId, id: actions.id, orderNo: actions.orderNo, itemSeq: actions.itemSeq, key: actions.key, tool: actions.tool, toolVersion: actions.toolVersion,
  effect: actions.effect, status: actions.status, attempt: actions.attempt, sends: actions.sends, refused: actions.refused, args: actions.args, result: actions.result,
  evidence: asTexts(actions.evidence), appliedEvidence: actions.appliedEvidence, error: actions.error, undo: actions.undo, undoes: actions.undoes, settledBy: actions.settledBy,
  timeoutMs: actions.timeoutMs, keyExpiresAt: actions.keyExpiresAt, answerableAt: actions.answerableAt, startedAt: actions.startedAt, committedAt: actions.committedAt,
}
/** For lists. Of the evidence there are as many entries as ever: an answer to a doubt says how many were looked at. */
export const shortActionColumns = {
  ...actionColumns, args: shorten<string>(actions.args, 'args'), result: shorten<string | null>(actions.result, 'result'), evidence: shortenEach(actions.evidence, 'evidence'),
  appliedEvidence: shorten<string | null>(actions.appliedEvidence, 'applied_evidence'), undo: shorten<string | null>(actions.undo, 'undo'),
}
/** Of those columns. */
export const shortActionBytes = sql<number>`${shownBytes(actions.args)} + ${shownBytes(actions.result)} + ${shownBytesOfEach(actions.evidence)} + ${shownBytes(actions.appliedEvidence)} + ${shownBytes(actions.undo)}`.mapWith(Number).as('bytes')
const words = z.object({ effect: z.enum(EFFECTS), status: z.enum(ACTION_STATUSES) })

export const actionView = <R extends { effect: string; status: string }>(row: R): R & z.infer<typeof words> => ({ ...row, ...words.parse(row) })

/** Of a run, or of one of its items, in the order they were first intended. Big values are left out; a page that is full before its limit holds fewer. */
export async function listActions(ledger: Ledger, runId: string, filter: ActionFilter = {}): Promise<Page<ActionView>> {
  const limit = limitOf(filter)
  const after = placeIn(filter, z.number().int())
  if (!isUuid(runId)) return { entries: [], cursor: null }
  const wanted = and(
    eq(actions.runId, runId),
    filter.itemSeq === undefined ? undefined : eq(actions.itemSeq, filter.itemSeq),
    filter.status === undefined ? undefined : eq(actions.status, filter.status),
    after === undefined ? undefined : gt(actions.id, after),
  )
  const sizes = await readsOn(ledger).select({ bytes: shortActionBytes }).from(actions).where(wanted).orderBy(asc(actions.id)).limit(limit)
  const most = countFitting(sizes.map(({ bytes }) => bytes))
  const rows = await readsOn(ledger).select(shortActionColumns).from(actions).where(wanted).orderBy(asc(actions.id)).limit(most + 1)
  return pageOf(rows.map(actionView), most, (action) => action.id)
}

/** By its number. */
export async function getAction(ledger: Ledger, runId: string, id: number): Promise<ActionView | undefined> {
  if (!isUuid(runId) || !Number.isSafeInteger(id)) return undefined
  const [row] = await readsOn(ledger).select(actionColumns).from(actions).where(and(eq(actions.runId, runId), eq(actions.id, id)))
  return row === undefined ? undefined : actionView(row)
}
