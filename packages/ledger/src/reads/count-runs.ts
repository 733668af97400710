/** Runs by status under a filter, and how much waits for people: the figures over a list. */
import { RUN_STATUSES, type RunStatus } from '@pawl/core'
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { runs } from '../schema.ts'
import { readsOn } from './database.ts'
import { runsWanted, type RunsWanted } from './run-filter.ts'

const row = z.object({ status: z.enum(RUN_STATUSES), n: z.number() })

export async function countRunsByStatus(ledger: Ledger, wanted: Omit<RunsWanted, 'status'>): Promise<Partial<Record<RunStatus, number>>> {
  const rows = await readsOn(ledger).select({ status: runs.status, n: sql<number>`count(*)`.mapWith(Number).as('n') }).from(runs).where(runsWanted(wanted)).groupBy(runs.status)
  return Object.fromEntries(z.array(row).parse(rows).map(({ status, n }) => [status, n]))
}

/** Entries of the inbox of a namespace, counted up to `most`: what `listInbox` shows, by the same conditions. */
export async function countInbox(ledger: Ledger, namespace: string, most: number): Promise<number> {
  const [found] = await ledger.query<{ n: number }>(`select count(*)::integer as n from (
      (select 1 from pawl.actions a join pawl.runs r on r.id = a.run_id and r.namespace = $1 where a.status = 'in_doubt' limit $2)
      union all (select 1 from pawl.approvals a join pawl.runs r on r.id = a.run_id and r.namespace = $1 where a.status = 'open' and a.expires_at > clock_timestamp() limit $2)
      union all (select 1 from pawl.questions q join pawl.runs r on r.id = q.run_id and r.namespace = $1
        join pawl.items i on i.run_id = q.run_id and i.seq = q.item_seq and i.status in ('pending', 'in_progress', 'blocked') where q.status = 'open' limit $2)
      union all (select 1 from pawl.items i join pawl.runs r on r.id = i.run_id and r.namespace = $1
        where i.status = 'blocked' and i.blocked_reason not in ('in_doubt', 'approval', 'question') limit $2)
      limit $2) entries`, [namespace, most], { retryForMs: 3_000 })
  return found?.n ?? 0
}
