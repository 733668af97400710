/** What a repin of a run would meet: its pins, what of it is live, which tool versions its unfinished items have called, and who serves the version it would go to. */
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { toolPins } from '../rows.ts'

const build = z.object({
  version: z.string(), model: z.string().nullable(), prompt: z.string().nullable(), lock: z.string(), items: z.boolean(),
  tools: z.record(z.string(), z.string()), pins: toolPins,
})
export type LiveBuild = z.infer<typeof build>

const facts = z.object({
  agent: z.string(), version: z.string(), model: z.string().nullable(), prompt: z.string().nullable(), tools: toolPins.nullable(),
  live: z.number(), inProgress: z.number(),
  /** Calls made in unfinished items, by the version that made them. */
  calls: z.array(z.object({ tool: z.string(), version: z.string(), items: z.number() })),
  builds: z.array(build),
})
export type RepinFacts = z.infer<typeof facts>

/** Undefined: no such run. Reads only. */
export async function readRepin(ledger: Ledger, runId: string, to: string): Promise<RepinFacts | undefined> {
  const [row] = await ledger.query(`select r.agent, r.agent_version as version, r.model_version as model, r.prompt_version as prompt, r.tools,
      (select count(*)::integer from pawl.items i where i.run_id = r.id and i.status in ('pending', 'in_progress', 'blocked')) as live,
      (select count(*)::integer from pawl.items i where i.run_id = r.id and i.status = 'in_progress') as "inProgress",
      coalesce((select json_agg(c) from (select a.tool, a.tool_version as version, count(distinct a.item_seq)::integer as items from pawl.actions a
        join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq and i.status in ('pending', 'in_progress', 'blocked', 'failed', 'cancelled')
        where a.run_id = r.id and a.status not in ('awaiting_approval', 'rejected', 'staged', 'discarded') group by 1, 2 order by 1, 2) c), '[]') as calls,
      coalesce((select json_agg(w.builds -> (r.agent || '@' || $2)) from pawl.workers w where w.builds ? (r.agent || '@' || $2)), '[]') as builds
    from pawl.runs r where r.id = $1`, [runId, to])
  return row === undefined ? undefined : facts.parse(row)
}
