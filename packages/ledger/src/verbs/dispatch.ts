import { ITEM_KINDS, limits } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { runVerbOnce } from './run-verb.ts'

const dueItem = z.object({ seq: z.number(), generation: z.number(), kind: z.enum(ITEM_KINDS), key: z.string(), again: z.boolean(), agent: z.string(), version: z.string(), trace: z.string().nullable().default(null) })
export type DueItem = z.infer<typeof dueItem>
const takeAnswer = z.object({ taken: z.array(dueItem), live: z.boolean(), more: z.boolean() })

/** `take_due_items`: what to ring for now; `live` false means the run has nothing open, `more` that its window is full. */
export async function takeDueItems(ledger: Ledger, runId: string, window: number = limits.dispatchWindow): Promise<z.infer<typeof takeAnswer>> {
  return await runVerbOnce(ledger, 'take_due_items', [runId, window], takeAnswer)
}

/** `advance_run`: what follows from the items alone. */
export async function advanceRun(ledger: Ledger, runId: string): Promise<{ status: string | null; made: boolean }> {
  return await runVerbOnce(ledger, 'advance_run', [runId],
    z.object({ run_status: z.string().nullable(), made: z.boolean() }).transform((r) => ({ status: r.run_status, made: r.made })))
}

/** Dispatched, not claimed, and nobody looked for a while: their jobs have to be asked for. Some of them at random, so that many whose version nobody serves never stand before one whose doorbell was lost. Reads only. */
export async function listUndelivered(ledger: Ledger, afterMs: number = limits.undeliveredAfterMs, most = 2_000): Promise<(DueItem & { runId: string })[]> {
  const rows = await ledger.query(`select * from (select i.run_id as "runId", i.seq, i.generation, i.kind, i.key, i.attempts > 0 as again, r.agent, r.agent_version as version
    from pawl.items i join pawl.runs r on r.id = i.run_id
    where i.status = 'pending' and not r.paused and i.dispatched_at is not null
      and i.dispatched_at not between clock_timestamp() - make_interval(secs => $1::double precision / 1000) and clock_timestamp() + make_interval(secs => $1::double precision / 1000)
    order by random() limit $2) sampled order by "runId", seq`, [afterMs, most])
  return rows.map((row) => dueItem.extend({ runId: z.string() }).parse(row))
}

/** Forgets that these were dispatched, so that the next take rings again with a new generation; only at the generation that was looked at. Null: every item that waits. Returns how many. */
export async function forgetDispatch(ledger: Ledger, which: readonly { runId: string; seq: number; generation: number }[] | null): Promise<number> {
  if (which === null) {
    return (await ledger.query(`update pawl.items i set dispatched_at = null where i.status = 'pending' and i.dispatched_at is not null returning i.seq`)).length
  }
  return (await ledger.query(`update pawl.items i set dispatched_at = null from json_to_recordset($1::json) as x("runId" uuid, seq integer, generation integer)
    where i.run_id = x."runId" and i.seq = x.seq and i.generation = x.generation and i.status = 'pending' returning i.seq`, [JSON.stringify(which)])).length
}

/** Runs that may need attention: open ones, and ended ones with a live settle item. */
export async function listOpenRuns(ledger: Ledger): Promise<string[]> {
  const rows = await ledger.query<{ id: string }>(`select r.id from pawl.runs r where r.status in ('splitting', 'running', 'finalizing', 'compensating')
    union select i.run_id from pawl.items i where i.kind = 'settle' and i.status in ('pending', 'in_progress', 'blocked')`)
  return rows.map((row) => row.id)
}
