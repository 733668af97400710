import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import type { BudgetLimits, RunPolicy } from '../rows.ts'
import { arrayOf, runVerbOnce } from './run-verb.ts'
import type { Holder } from './settle.ts'

export interface NewRun {
  readonly id: string
  readonly namespace: string
  /** The caller's Idempotency-Key. */
  readonly key: string | null
  /** Of the request; null while a stream's is not known. */
  readonly digest: string | null
  readonly agent: string
  readonly agentVersion: string
  readonly modelVersion: string | null
  readonly promptVersion: string | null
  readonly schemaVersion: number
  readonly lockDigest: string | null
  /** By tool name; null or absent where whoever starts the run does not know its tools. */
  readonly tools?: Readonly<Record<string, { readonly version: string; readonly format: string }>> | null
  readonly input: string
  readonly labels: Readonly<Record<string, string>>
  readonly policy: Partial<RunPolicy>
  readonly createdBy: string
  /** W3C traceparent of whoever started it. Absent: nobody traces. */
  readonly traceParent?: string | null | undefined
  /** Items come from the agent's `split`; false when the caller brings them. */
  readonly split: boolean
}

const startOutcome = z.object({ outcome: z.enum(['created', 'exists']), run_id: z.string(), digest: z.string().nullable(), status: z.string().nullable() })

/** `start_run`. `exists`: the key names a run already; the caller compares digests. */
export async function startRun(ledger: Ledger, run: NewRun): Promise<z.infer<typeof startOutcome>> {
  return await runVerbOnce(ledger, 'start_run', [
    run.id, run.namespace, run.key, run.digest, run.agent, run.agentVersion, run.modelVersion, run.promptVersion, run.schemaVersion, run.lockDigest,
    run.input, JSON.stringify(run.labels), JSON.stringify(run.policy), run.createdBy, run.split, run.tools ? JSON.stringify(run.tools) : null, run.traceParent ?? null,
  ], startOutcome, { retryForMs: run.key === null ? 0 : 5_000 })
}

/** `open_stream`: the stream's number; 0 when another stream is alive; null when the run takes no items any more. */
export async function openStream(ledger: Ledger, runId: string, aliveMs: number): Promise<number | null> {
  const row = await runVerbOnce(ledger, 'open_stream', [runId, aliveMs], z.object({ open_stream: z.number().nullable() }))
  return row.open_stream
}

const appendOutcome = z.object({ outcome: z.enum(['added', 'closed', 'duplicate']), duplicates: z.array(z.string()).nullable() })

/** `append_items`: one chunk. `schemaVersion`: of its payloads, where it is not the run's. Written again after a lost answer it would find its own keys, so the caller reopens the stream instead. */
export async function appendItems(ledger: Ledger, runId: string, streamNo: number, items: readonly { key: string; payload: string }[], schemaVersion: number | null = null): Promise<z.infer<typeof appendOutcome>> {
  const [row] = await ledger.query('select outcome, to_json(duplicates) as duplicates from pawl.append_items($1, $2, $3, $4, $5)', [
    runId, streamNo, arrayOf(items.map((i) => i.key)), arrayOf(items.map((i) => i.payload)), schemaVersion,
  ])
  return appendOutcome.parse(row)
}

/** `seal_run`: totals fixed, dispatch begins. The same stream sealed again (a lost answer) is `sealed`. */
export async function sealRun(ledger: Ledger, runId: string, streamNo: number, digest: string | null): Promise<{ outcome: 'sealed' | 'closed'; total: number | null }> {
  return await runVerbOnce(ledger, 'seal_run', [runId, streamNo, digest], z.object({ outcome: z.enum(['sealed', 'closed']), total: z.number().nullable() }), { retryForMs: 60_000 })
}

/** `drop_stream`: a stream that will not be completed leaves nothing. */
export async function dropStream(ledger: Ledger, runId: string, streamNo: number): Promise<boolean> {
  return (await runVerbOnce(ledger, 'drop_stream', [runId, streamNo], z.object({ drop_stream: z.boolean() }))).drop_stream
}

/** Streams nobody continued for this long. */
export async function listAbandonedStreams(ledger: Ledger, afterMs: number): Promise<{ runId: string; streamNo: number }[]> {
  const rows = await ledger.query<{ id: string; stream_no: number }>(`select id, stream_no from pawl.runs
    where status = 'splitting' and stream_alive_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)`, [afterMs])
  return rows.map((row) => ({ runId: row.id, streamNo: row.stream_no }))
}

const verbOutcome = z.object({ outcome: z.string(), status: z.string().nullable() })
export type RunVerbAnswer = z.infer<typeof verbOutcome>

/** `pause_run`: paused | wrong_state | missing. */
export const pauseRun = (ledger: Ledger, runId: string, actor: string, reason: string | null = null): Promise<RunVerbAnswer> => runVerbOnce(ledger, 'pause_run', [runId, actor, reason], verbOutcome)

/** `set_budget`: set | missing. Null leaves a side as it is. Items that waited for what now has room are pending. */
export const setBudget = (ledger: Ledger, runId: string, limits: { budget: BudgetLimits | null; itemBudget: BudgetLimits | null }, by: { actor: string; note?: string | null }): Promise<RunVerbAnswer> =>
  runVerbOnce(ledger, 'set_budget', [runId, jsonOf(limits.budget), jsonOf(limits.itemBudget), by.actor, by.note ?? null], verbOutcome)
const jsonOf = (value: object | null): string | null => value && JSON.stringify(value)

/** `resume_run`: resumed | wrong_state | missing, with the number of items sent round again. */
export const resumeRun = (ledger: Ledger, runId: string, actor: string, reason: string | null = null): Promise<RunVerbAnswer & { reopened: number }> =>
  runVerbOnce(ledger, 'resume_run', [runId, actor, reason], verbOutcome.extend({ reopened: z.number() }))

/** `cancel_run`: cancelled | wrong_state | missing, with the number of calls that are settled after the fact. */
export const cancelRun = (ledger: Ledger, runId: string, actor: string, reason: string | null): Promise<RunVerbAnswer & { unsettled: number | null }> =>
  runVerbOnce(ledger, 'cancel_run', [runId, actor, reason], verbOutcome.extend({ unsettled: z.number().nullable() }))

/** `start_compensation`: started | wrong_state | missing. */
export const startCompensation = (ledger: Ledger, runId: string, actor: string, reason: string | null): Promise<RunVerbAnswer> =>
  runVerbOnce(ledger, 'start_compensation', [runId, actor, reason], verbOutcome)

/** `compensate_by_policy`: the finalize item starts its run's compensation. */
export async function compensateByPolicy(ledger: Ledger, by: Holder, reason: string): Promise<'started' | 'fenced'> {
  const row = await runVerbOnce(ledger, 'compensate_by_policy', [by.runId, by.seq, by.epoch, reason], z.object({ compensate_by_policy: z.enum(['started', 'fenced']) }), { retryForMs: 60_000 })
  return row.compensate_by_policy
}

/** `close_run`: the finalize item's finish. `open`: a call of it is not settled. */
export async function closeRun(ledger: Ledger, by: Holder, ending: { status: string; result: string | null; error: string | null }): Promise<'closed' | 'fenced' | 'open'> {
  const row = await runVerbOnce(ledger, 'close_run', [by.runId, by.seq, by.epoch, ending.status, ending.result, ending.error],
    z.object({ close_run: z.enum(['closed', 'fenced', 'open']) }), { retryForMs: 60_000 })
  return row.close_run
}

/** `close_compensation`: the compensate item's finish, with the number of writes that stand without an undo. */
export async function closeCompensation(ledger: Ledger, by: Holder): Promise<{ outcome: 'closed' | 'fenced' | 'open'; residue: number | null }> {
  return await runVerbOnce(ledger, 'close_compensation', [by.runId, by.seq, by.epoch],
    z.object({ outcome: z.enum(['closed', 'fenced', 'open']), residue: z.number().nullable() }), { retryForMs: 60_000 })
}

/** `open_split_stream`: for a claimed split item. Null: fenced, or the run is sealed already. */
export async function openSplitStream(ledger: Ledger, by: Holder): Promise<number | null> {
  const row = await runVerbOnce(ledger, 'open_split_stream', [by.runId, by.seq, by.epoch], z.object({ open_split_stream: z.number().nullable() }))
  return row.open_split_stream
}

/** What `repin_run` moves a run to. */
export interface NewPins {
  readonly agentVersion: string
  readonly modelVersion: string | null
  readonly promptVersion: string | null
  readonly lockDigest: string | null
  /** Null: whoever claims first says. */
  readonly tools: Readonly<Record<string, { readonly version: string; readonly format: string }>> | null
}

/** `repin_run`: repinned | changed | wrong_state | missing. `expected`: the version the caller looked at. */
export const repinRun = (ledger: Ledger, runId: string, expected: string, pins: NewPins, by: { actor: string; reason: string | null }): Promise<RunVerbAnswer & { version: string | null; moved: number }> =>
  runVerbOnce(ledger, 'repin_run', [runId, expected, pins.agentVersion, pins.modelVersion, pins.promptVersion, pins.lockDigest, pins.tools ? JSON.stringify(pins.tools) : null, by.actor, by.reason],
    verbOutcome.extend({ version: z.string().nullable(), moved: z.number() }))
