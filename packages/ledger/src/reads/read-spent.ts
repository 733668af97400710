/** What a run has spent on its models so far, all items together: what a budget of the run is held against. Locks nothing. */
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const spentRow = z.object({ turns: z.number(), tokens: z.number(), cost_micros: z.number(), wall_ms: z.number() })

export async function readSpent(ledger: Ledger, runId: string): Promise<{ turns: number; tokens: number; costMicros: number; wallMs: number }> {
  const [row] = await ledger.query(`
    select (select count(*) from pawl.turns t where t.run_id = r.id)::integer as turns,
      coalesce(i.tokens, 0)::double precision as tokens, coalesce(i.micros, 0)::double precision as cost_micros,
      (extract(epoch from clock_timestamp() - coalesce(r.started_at, r.created_at)) * 1000)::double precision as wall_ms
    from pawl.runs r left join lateral (select sum(x.tokens_used) as tokens, sum(x.cost_micros) as micros from pawl.items x where x.run_id = r.id) i on true
    where r.id = $1`, [runId])
  const spent = spentRow.parse(row)
  return { turns: spent.turns, tokens: spent.tokens, costMicros: spent.cost_micros, wallMs: spent.wall_ms }
}
