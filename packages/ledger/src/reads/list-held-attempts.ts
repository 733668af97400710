/** What a worker has in hand, with the trace of each run: for whoever speaks for a process that is dead. */
import { ITEM_KINDS } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const held = z.object({
  run: z.object({ id: z.string(), agent: z.string(), agent_version: z.string(), trace_parent: z.string().nullable() }),
  item: z.object({ seq: z.number(), kind: z.enum(ITEM_KINDS), epoch: z.number() }),
  startedAt: z.date(),
})
export type HeldAttempt = z.infer<typeof held>

export async function listHeldAttempts(ledger: Ledger, workerId: string): Promise<HeldAttempt[]> {
  const rows = await ledger.query(`
    select json_build_object('id', r.id, 'agent', r.agent, 'agent_version', r.agent_version, 'trace_parent', r.trace_parent) as run,
      json_build_object('seq', i.seq, 'kind', i.kind, 'epoch', i.epoch) as item, a.started_at as "startedAt"
    from pawl.items i join pawl.runs r on r.id = i.run_id join pawl.attempts a on a.run_id = i.run_id and a.item_seq = i.seq and a.epoch = i.epoch
    where i.status = 'in_progress' and i.worker_id = $1`, [workerId], { retryForMs: 1_000 })
  return rows.map((row) => held.parse(row))
}
