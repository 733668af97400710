/**
 * How much waits for workers and for people: what scales a fleet and what the metrics show. From the ledger, since the queue holds no more than its window.
 * Asked for by every scrape, so each statement stays within a partial index of what is open, or an index of the runs alone: what has ended is never read.
 */
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const count = z.coerce.number()
const backlogRow = z.object({
  agent: z.string(), agentVersion: z.string(), due: count, delayed: count, inProgress: count, blocked: count, held: count, oldestDueMs: z.coerce.number().nullable(),
})

/**
 * Items by agent and version. `due` may be worked on now, the oldest since `oldestDueMs` (null: none is), `delayed` waits for its backoff or sleeps,
 * `held` is of paused runs or of runs not yet sealed.
 */
export type Backlog = z.infer<typeof backlogRow>

export interface Doubts {
  readonly unsettled: number
  readonly inDoubt: number
  readonly oldestStartedAt: Date | null
}

const retryForMs = 3_000

/** By run first, from `items_open` alone; of a run that is being split only its split itself may be worked on. */
export async function countBacklog(ledger: Ledger): Promise<Backlog[]> {
  const rows = await ledger.query(`
    with open as (
      select run_id, status, available_at <= clock_timestamp() as is_due, count(*) as n, min(available_at) as oldest
      from pawl.items where status in ('pending', 'in_progress', 'blocked') group by 1, 2, 3),
    counted as (
      select r.agent, r.agent_version, o.status, o.is_due, o.oldest, o.n,
        case when r.paused then o.n when r.status <> 'splitting' then 0
          else o.n - (select count(*) from pawl.items s where s.run_id = r.id and s.kind = 'split' and s.status = o.status and (s.available_at <= clock_timestamp()) = o.is_due) end as held
      from open o join pawl.runs r on r.id = o.run_id)
    select agent, agent_version as "agentVersion",
      coalesce(sum(n - held) filter (where status = 'pending' and is_due), 0) as due,
      coalesce(sum(n - held) filter (where status = 'pending' and not is_due), 0) as delayed,
      coalesce(sum(n) filter (where status = 'in_progress'), 0) as "inProgress",
      coalesce(sum(n) filter (where status = 'blocked'), 0) as blocked,
      coalesce(sum(held) filter (where status = 'pending'), 0) as held,
      extract(epoch from clock_timestamp() - min(oldest) filter (where status = 'pending' and is_due and n > held)) * 1000 as "oldestDueMs"
    from counted group by 1, 2 order by 1, 2`, [], { retryForMs })
  return rows.map((row) => backlogRow.parse(row))
}

const runsRow = z.object({ agent: z.string(), status: z.string(), runs: count })

/** Runs by status and agent, the ended ones too. */
export async function countRuns(ledger: Ledger): Promise<z.infer<typeof runsRow>[]> {
  const rows = await ledger.query('select agent, status, count(*) as runs from pawl.runs group by 1, 2', [], { retryForMs })
  return rows.map((row) => runsRow.parse(row))
}

const actionsRow = z.object({ agent: z.string(), status: z.enum(['started', 'in_doubt', 'awaiting_approval', 'staged']), n: count, unsettled: count, oldestMs: z.coerce.number().nullable() })

/**
 * Actions nobody is done with, by agent and status. `unsettled`: those of the started ones whose item nobody holds; the others are under way.
 * `oldestMs`: age of the oldest that is unsettled or in doubt.
 */
export type OpenActions = z.infer<typeof actionsRow>

/** Approvals stand for the actions that wait for them: there is an index of the open ones. */
export async function countOpenActions(ledger: Ledger): Promise<OpenActions[]> {
  const rows = await ledger.query(`
    with open as (
      select a.run_id, 'started' as status, i.status <> 'in_progress' or i.lease_until < clock_timestamp() as is_left, a.started_at
        from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq where a.status = 'started'
      union all select run_id, 'in_doubt', true, started_at from pawl.actions where status = 'in_doubt'
      union all select run_id, 'staged', false, null from pawl.actions where status = 'staged'
      union all select run_id, 'awaiting_approval', false, null from pawl.approvals where status = 'open')
    select r.agent, o.status, count(*) as n, count(*) filter (where o.status = 'started' and o.is_left) as unsettled,
      extract(epoch from clock_timestamp() - min(o.started_at) filter (where o.is_left)) * 1000 as "oldestMs"
    from open o join pawl.runs r on r.id = o.run_id group by 1, 2`, [], { retryForMs })
  return rows.map((row) => actionsRow.parse(row))
}

const doubtsRow = z.object({ unsettled: count, inDoubt: count, oldestStartedAt: z.date().nullable() })

/** All calls that are started and not settled, those under way among them, and all that are in doubt. */
export async function countDoubts(ledger: Ledger): Promise<Doubts> {
  const [row] = await ledger.query(`
    select (select count(*) from pawl.actions where status = 'started') as unsettled, (select count(*) from pawl.actions where status = 'in_doubt') as "inDoubt",
      least((select min(started_at) from pawl.actions where status = 'started'), (select min(started_at) from pawl.actions where status = 'in_doubt')) as "oldestStartedAt"`, [], { retryForMs })
  return doubtsRow.parse(row)
}
