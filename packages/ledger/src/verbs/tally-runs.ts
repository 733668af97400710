import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const runTallyRow = z.object({ id: z.string(), agent: z.string(), status: z.string(), done: z.number(), failed: z.number(), blocked: z.number(), total: z.number() })
export type RunTallyRow = z.infer<typeof runTallyRow>

/** How far these runs are. */
export async function tallyRuns(ledger: Ledger, runIds: readonly string[]): Promise<RunTallyRow[]> {
  if (runIds.length === 0) return []
  const rows = await ledger.query(`select r.id, r.agent, r.status, r.items_total as total,
      count(i.seq) filter (where i.status in ('done', 'compensated'))::integer as done, count(i.seq) filter (where i.status = 'failed')::integer as failed,
      count(i.seq) filter (where i.status = 'blocked')::integer as blocked
    from pawl.runs r left join pawl.items i on i.run_id = r.id and i.kind = 'work'
    where r.id in (select x::uuid from json_array_elements_text($1::json) as x) group by r.id`, [JSON.stringify(runIds)])
  return rows.map((row) => runTallyRow.parse(row))
}
