/** Who works, what waits, and where the ledger and what should be going on differ: what the fleet page and the doctor look at. All from the ledger. */
import { limits } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const worker = z.object({
  id: z.string(), name: z.string(), host: z.string(), pid: z.number(), startedAt: z.date(), seenAt: z.date(), serves: z.array(z.string()), leases: z.number(), build: z.string(), isLive: z.boolean(),
})
const version = z.object({ agent: z.string(), version: z.string(), rung: z.number(), live: z.number(), due: z.number(), delayed: z.number(), oldestDueMs: z.number().nullable(), isServed: z.boolean() })
const lack = z.object({ agent: z.string(), version: z.string(), items: z.number(), runId: z.string(), lacks: z.string() })
const sweeper = z.object({ holder: z.string(), leaseUntil: z.date(), cycles: z.number(), isLive: z.boolean() })

export interface FleetView {
  readonly workers: readonly z.infer<typeof worker>[]
  /** Agent versions with items that are not ended. `rung`: a job of theirs should be on the queue; `live`: pending and in progress. */
  readonly versions: readonly z.infer<typeof version>[]
  readonly orphans: number
  /** Items blocked `version`, by what their build would have to have. */
  readonly lacking: readonly z.infer<typeof lack>[]
  readonly sweeper: z.infer<typeof sweeper> | null
}

export async function readFleet(ledger: Ledger): Promise<FleetView> {
  const ask = async (text: string, params: readonly number[] = []) => await ledger.query(text, params, { retryForMs: 3_000 })
  const [workers, versions, orphans, lacking, sweeps] = await Promise.all([
    ask(`select w.id, w.name, w.host, w.pid, w.started_at as "startedAt", w.heartbeat_at as "seenAt", w.serves, left(md5(w.builds::text), 8) as build,
      (select count(*)::integer from pawl.items i where i.status = 'in_progress' and i.worker_id = w.id) as leases,
      w.heartbeat_at > clock_timestamp() - make_interval(secs => $1::double precision / 1000) as "isLive" from pawl.workers w order by w.started_at, w.id`, [3 * limits.heartbeatEveryMs]),
    ask(versionsText),
    ask(`select count(*)::integer as n from pawl.items where status = 'in_progress' and lease_until < clock_timestamp()`),
    ask(lackingText),
    ask(`select holder, lease_until as "leaseUntil", cycles::double precision as cycles, lease_until > clock_timestamp() as "isLive" from pawl.sweeper where holder is not null`),
  ])
  return {
    workers: workers.map((row) => worker.parse(row)), versions: versions.map((row) => version.parse(row)), orphans: z.object({ n: z.number() }).parse(orphans[0]).n,
    lacking: lacking.map((row) => lack.parse(row)), sweeper: sweeps[0] === undefined ? null : sweeper.parse(sweeps[0]),
  }
}

const versionsText = `
  select r.agent, r.agent_version as version,
    (count(*) filter (where i.status = 'in_progress' or i.dispatched_at is not null))::integer as rung, count(*)::integer as live,
    (count(*) filter (where h.held is false and i.available_at <= clock_timestamp()))::integer as due,
    (count(*) filter (where h.held is false and i.available_at > clock_timestamp()))::integer as delayed,
    extract(epoch from clock_timestamp() - min(i.available_at) filter (where h.held is false and i.available_at <= clock_timestamp()))::double precision * 1000 as "oldestDueMs",
    exists (select 1 from pawl.workers w where w.serves ? (r.agent || '@' || r.agent_version)) as "isServed"
  from pawl.items i join pawl.runs r on r.id = i.run_id
  cross join lateral (select case when i.status = 'pending' then r.paused or (r.status = 'splitting' and i.kind = 'work') end as held) h
  where i.status in ('pending', 'in_progress') group by r.agent, r.agent_version order by 1, 2`

const lackingText = `
  select r.agent, r.agent_version as version, count(*)::integer as items, min(r.id::text) as "runId",
    string_agg(distinct case when i.blocked_detail::jsonb ? 'tools' then i.blocked_detail::jsonb ->> 'tools' when i.blocked_detail::jsonb ? 'prompt' then 'another prompt'
      when i.blocked_detail::jsonb ? 'model' then 'another model' when i.blocked_detail::jsonb ? 'schema' then 'its schema' else 'its version' end, ', ') as lacks
  from pawl.items i join pawl.runs r on r.id = i.run_id where i.status = 'blocked' and i.blocked_reason = 'version' group by 1, 2 order by 1, 2`
