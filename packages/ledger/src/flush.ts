/**
 * The hot statement: completions, turns, intents, records, renewals and finishes of many items in one round trip and one commit.
 * Fence: the item row, locked, with this epoch and `in_progress`; a row somebody holds is skipped and never stops its neighbours.
 * A turn, an intent or a finish is written only if every completion it rides on was taken; an intent only if the turn it rides on is new in this
 * very statement; a finish as done or failed only if nothing of the item is open. A turn whose number is there stops all that came with it: the row decides.
 * It touches no run row, sends no NOTIFY, claims nothing. Rejected: one statement per marker (twice the commits), a counter on the run row (a third of the speed).
 */
import { z } from 'zod'
import type { Ledger } from './connect.ts'
import type { History } from './history.ts'

export interface ItemRef {
  readonly runId: string
  readonly seq: number
}

export interface Intent {
  readonly key: string
  readonly token: string
  readonly tool: string
  readonly toolVersion: string
  readonly effect: string
  readonly args: string
  readonly argsDigest: string
  readonly undo: string | null
  readonly undoes: number | null
  readonly timeoutMs: number
  readonly settleMs: number
  readonly keyWindowMs: number | null
  /** The turn that decided it; null where code did. */
  readonly turn?: number | null
}

/** One decision of the model. */
export interface Turn {
  /** 1, 2, … within its item. */
  readonly n: number
  readonly modelVersion: string
  readonly promptVersion: string
  readonly decision: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicros: number
  /** What the item has spent with this turn, in all: set, not added, so that a write repeated after a lost answer counts nothing twice. */
  readonly spentTokens: number
  readonly spentMicros: number
}

export interface Completion {
  readonly key: string
  readonly token: string
  /** `unsent`: the guard stopped it. `refused`: the tool proved this send not applied. */
  readonly outcome: 'committed' | 'refused' | 'unsent'
  readonly result: string | null
  readonly error: string | null
  readonly undo: string | null
}

export interface Finish {
  readonly status: 'done' | 'failed' | 'pending'
  readonly result?: string | null
  readonly resultRef?: string | null
  readonly error?: string | null
  /** For `pending`: not before. */
  readonly delayMs?: number
  /** For `pending`, `failed`: this attempt counts as a failure. */
  readonly isFailure?: boolean
}

/** All one item wants of one flush. */
export interface Want {
  readonly item: ItemRef
  readonly epoch: number
  readonly completions: readonly Completion[]
  readonly turns: readonly Turn[]
  readonly intents: readonly Intent[]
  readonly records: readonly { readonly name: string; readonly value: string }[]
  readonly finish: Finish | undefined
}

const statement = `
with want as materialized (
  select * from json_to_recordset($1::json) as w(run uuid, seq integer, epoch integer, finish text, completions integer, turns integer, progress boolean,
    tokens bigint, micros bigint, result text, result_ref text, error text, delay_ms double precision, failed integer)),
l as (
  select i.run_id, i.seq, i.epoch from pawl.items i join want w on i.run_id = w.run and i.seq = w.seq and i.epoch = w.epoch and i.status = 'in_progress'
  order by i.run_id, i.seq for update of i skip locked),
c as (
  update pawl.actions a set
    -- Refused by every send that is known of, but proved applied meanwhile by one that was thought not to be: unsettled.
    status = case when x.outcome = 'committed' then 'committed' when a.refused + 1 >= a.sends and a.applied_evidence is null then 'failed' else 'started' end,
    refused = a.refused + case when x.outcome = 'committed' then 0 else 1 end,
    token = case when x.outcome = 'committed' or (a.refused + 1 >= a.sends and a.applied_evidence is null) then a.token end,
    result = coalesce(x.result, a.result), error = x.error, undo = coalesce(x.undo, a.undo), settled_by = 'worker',
    committed_at = case when x.outcome = 'committed' then clock_timestamp() end
  from json_to_recordset($2::json) as x(run uuid, seq integer, epoch integer, key text, token uuid, outcome text, result text, error text, undo text)
    join l on l.run_id = x.run and l.seq = x.seq and l.epoch = x.epoch
  where a.run_id = x.run and a.key = x.key and a.token = x.token and a.status = 'started'
  returning a.run_id, a.id, x.seq as item_seq, x.epoch, a.key, a.status, a.undoes),
u as (
  update pawl.actions o set status = 'compensated' from c
  where o.run_id = c.run_id and o.id = c.undoes and c.status = 'committed' and o.status = 'committed' returning o.id),
f as (
  update pawl.items i set
    status = coalesce(w.finish, i.status),
    lease_until = case when w.finish is null then clock_timestamp() + make_interval(secs => $5::double precision / 1000) end,
    worker_id = case when w.finish is null then i.worker_id end,
    barren_attempts = case when w.progress or w.finish is not null then 0 else i.barren_attempts end,
    failures = i.failures + w.failed,
    tokens_used = greatest(i.tokens_used, w.tokens), cost_micros = greatest(i.cost_micros, w.micros),
    result = case when w.finish = 'done' then w.result else i.result end,
    result_ref = case when w.finish = 'done' then w.result_ref else i.result_ref end,
    error = case when w.finish = 'done' then null else coalesce(w.error, i.error) end,
    available_at = case when w.finish is distinct from 'pending' then i.available_at when w.delay_ms > 0 then clock_timestamp() + make_interval(secs => w.delay_ms / 1000) else i.created_at end,
    dispatched_at = case when w.finish = 'pending' then null else i.dispatched_at end,
    finished_at = case when w.finish in ('done', 'failed') then clock_timestamp() end,
    allow_new_calls = i.allow_new_calls and w.finish is null
  from want w join l on l.run_id = w.run and l.seq = w.seq and l.epoch = w.epoch
  where i.run_id = l.run_id and i.seq = l.seq
    and w.completions = (select count(*) from c where c.run_id = l.run_id and c.item_seq = l.seq and c.epoch = l.epoch)
    and (coalesce(w.finish, '') not in ('done', 'failed') or not exists (
      select 1 from pawl.actions o where o.run_id = l.run_id and o.item_seq = l.seq and o.status in ('started', 'in_doubt', 'awaiting_approval')
        and o.id not in (select c.id from c where c.run_id = l.run_id and c.status <> 'started')))
    and (coalesce(w.finish, '') not in ('done', 'failed') or not exists (select 1 from c where c.run_id = l.run_id and c.item_seq = l.seq and c.status = 'started'))
    and (w.turns = 0 or not exists (select 1 from json_to_recordset($6::json) as x(run uuid, seq integer, epoch integer, n integer)
      join pawl.turns o on o.run_id = x.run and o.item_seq = x.seq and o.n = x.n where x.run = l.run_id and x.seq = l.seq and x.epoch = l.epoch))
  returning i.run_id, i.seq, i.epoch, w.finish, w.turns),
t as (
  insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision, input_tokens, output_tokens, cost_micros)
  select x.run, x.seq, x.n, x.epoch, x.model_version, x.prompt_version, x.decision, x.input_tokens, x.output_tokens, x.cost_micros
  from json_to_recordset($6::json) as x(run uuid, seq integer, epoch integer, n integer, model_version text, prompt_version text, decision text,
    input_tokens integer, output_tokens integer, cost_micros bigint)
    join f on f.run_id = x.run and f.seq = x.seq and f.epoch = x.epoch
  where f.finish is null order by x.run, x.seq, x.n
  on conflict (run_id, item_seq, n) do nothing returning run_id, item_seq, n),
r as (
  insert into pawl.records (run_id, item_seq, name, value)
  select x.run, x.seq, x.name, x.value from json_to_recordset($4::json) as x(run uuid, seq integer, epoch integer, name text, value text)
    join f on f.run_id = x.run and f.seq = x.seq and f.epoch = x.epoch
  on conflict do nothing returning name),
n as (
  insert into pawl.actions (run_id, item_seq, turn, key, tool, tool_version, effect, status, epoch, token, args, args_digest, undo, undoes, timeout_ms, settle_ms, key_expires_at)
  select x.run, x.seq, x.turn, x.key, x.tool, x.tool_version, x.effect, 'started', x.epoch, x.token, x.args, x.args_digest, x.undo, x.undoes, x.timeout_ms, x.settle_ms,
    case when x.key_window_ms is not null then clock_timestamp() + make_interval(secs => x.key_window_ms / 1000) end
  from json_to_recordset($3::json) as x(run uuid, seq integer, epoch integer, turn integer, key text, token uuid, tool text, tool_version text, effect text, args text,
    args_digest text, undo text, undoes bigint, timeout_ms integer, settle_ms integer, key_window_ms double precision)
    join f on f.run_id = x.run and f.seq = x.seq and f.epoch = x.epoch
  where f.finish is null and f.turns = (select count(*) from t where t.run_id = f.run_id and t.item_seq = f.seq) order by x.run, x.key
  on conflict (run_id, key) do nothing returning run_id, key, token, id, order_no)
select
  (select json_agg(json_build_array(l.run_id, l.seq, l.epoch)) from l) as locked,
  (select json_agg(json_build_array(f.run_id, f.seq, f.epoch)) from f) as written,
  (select json_agg(json_build_object('run', c.run_id, 'key', c.key, 'status', c.status)) from c) as completed,
  (select json_agg(json_build_object('run', n.run_id, 'key', n.key, 'token', n.token, 'id', n.id, 'orderNo', n.order_no)) from n) as intended,
  (select json_agg(json_build_array(t.run_id, t.item_seq, t.n)) from t) as turned,
  pawl.history_now() as history`

const place = z.tuple([z.string(), z.number(), z.number()])
const answerRow = z.object({
  locked: z.array(place).nullable(),
  written: z.array(place).nullable(),
  completed: z.array(z.object({ run: z.string(), key: z.string(), status: z.enum(['committed', 'failed', 'started']) })).nullable(),
  intended: z.array(z.object({ run: z.string(), key: z.string(), token: z.string(), id: z.number(), orderNo: z.number() })).nullable(),
  turned: z.array(place).nullable(),
  history: z.string(),
})

export interface FlushAnswer {
  readonly locked: ReadonlySet<string>
  readonly written: ReadonlySet<string>
  /** By `placeOfKey`. */
  readonly completed: ReadonlyMap<string, 'committed' | 'failed' | 'started'>
  /** By token. */
  readonly intended: ReadonlyMap<string, { id: number; orderNo: number }>
  /** By `placeOfTurn`. */
  readonly turned: ReadonlySet<string>
  readonly history: History
}

export const placeOf = (item: ItemRef, epoch: number): string => `${item.runId}:${item.seq}:${epoch}`
export const placeOfKey = (runId: string, key: string): string => `${runId}:${key}`
export const placeOfTurn = (item: ItemRef, n: number): string => `${item.runId}:${item.seq}:${n}`

/** Writes one batch. Throws what `Ledger.query` throws; after a passing error the outcome is unknown and the same batch may be written again. */
export async function flush(ledger: Ledger, wants: readonly Want[], leaseMs: number): Promise<FlushAnswer> {
  const seen = ledger.gauge.begin()
  const [row] = await ledger.query(statement, [
    JSON.stringify(wants.map(itemOf)),
    JSON.stringify(wants.flatMap((want) => want.completions.map((c) => ({ ...where(want), ...c })))),
    JSON.stringify(wants.flatMap((want) => want.intents.map((i) => ({
      ...where(want), key: i.key, token: i.token, tool: i.tool, tool_version: i.toolVersion, effect: i.effect, args: i.args, args_digest: i.argsDigest,
      undo: i.undo, undoes: i.undoes, timeout_ms: i.timeoutMs, settle_ms: i.settleMs, key_window_ms: i.keyWindowMs, turn: i.turn ?? null,
    })))),
    JSON.stringify(wants.flatMap((want) => want.records.map((r) => ({ ...where(want), ...r })))),
    leaseMs,
    JSON.stringify(wants.flatMap((want) => want.turns.map((t) => ({
      ...where(want), n: t.n, model_version: t.modelVersion, prompt_version: t.promptVersion, decision: t.decision,
      input_tokens: t.inputTokens, output_tokens: t.outputTokens, cost_micros: t.costMicros,
    })))),
  ])
  const answer = answerRow.parse(row)
  return {
    locked: new Set(answer.locked?.map((p) => p.join(':'))),
    written: new Set(answer.written?.map((p) => p.join(':'))),
    completed: new Map(answer.completed?.map((c) => [placeOfKey(c.run, c.key), c.status])),
    intended: new Map(answer.intended?.map((n) => [n.token, { id: n.id, orderNo: n.orderNo }])),
    turned: new Set(answer.turned?.map((p) => p.join(':'))),
    history: seen(answer.history),
  }
}

const where = (want: Want) => ({ run: want.item.runId, seq: want.item.seq, epoch: want.epoch })

function itemOf(want: Want) {
  const { finish } = want
  return {
    ...where(want),
    finish: finish?.status ?? null,
    completions: want.completions.length,
    turns: want.turns.length,
    tokens: want.turns.at(-1)?.spentTokens ?? null,
    micros: want.turns.at(-1)?.spentMicros ?? null,
    // A send that was refused or stopped is no progress: the same may happen on every attempt that ends its process.
    progress: want.completions.some((c) => c.outcome === 'committed') || want.records.length > 0 || want.turns.length > 0,
    result: finish?.result ?? null,
    result_ref: finish?.resultRef ?? null,
    error: finish?.error ?? null,
    delay_ms: finish?.delayMs ?? 0,
    failed: finish?.isFailure ? 1 : 0,
  }
}
