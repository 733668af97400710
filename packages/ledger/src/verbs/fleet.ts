import { limits } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { runVerbOnce } from './run-verb.ts'

/** What proves on this host that a process is the one that registered: pids are reused, start times are not. Nulls prove nothing. */
export interface ProcessIdentity {
  readonly host: string
  readonly bootId: string | null
  readonly pidNamespace: string | null
  readonly pid: number
  readonly pidStartedAt: string | null
}

export interface WorkerRow extends ProcessIdentity {
  readonly id: string
  readonly name: string
}

/** Registers a process, or says again that it lives. `serves`: the `agent@version` whose items it takes. `builds`: JSON by `agent@version`, what its code has for them. */
export async function beat(ledger: Ledger, worker: WorkerRow, serves: readonly string[], builds = '{}'): Promise<void> {
  await ledger.query(`insert into pawl.workers (id, name, host, boot_id, pid_namespace, pid, pid_started_at, serves, builds) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (id) do update set heartbeat_at = clock_timestamp()`, [
    worker.id, worker.name, worker.host, worker.bootId, worker.pidNamespace, worker.pid, worker.pidStartedAt, JSON.stringify(serves), builds,
  ])
}

export async function removeWorker(ledger: Ledger, id: string): Promise<void> {
  await ledger.query('delete from pawl.workers where id = $1', [id])
}

const neighbour = z.object({ id: z.string(), name: z.string(), host: z.string(), bootId: z.string().nullable(), pidNamespace: z.string().nullable(), pid: z.number(), pidStartedAt: z.string().nullable() })

/** Other registered processes of the same host, to be proved dead or alive. */
export async function listNeighbours(ledger: Ledger, self: WorkerRow): Promise<WorkerRow[]> {
  const rows = await ledger.query(`select id, name, host, boot_id as "bootId", pid_namespace as "pidNamespace", pid, pid_started_at as "pidStartedAt"
    from pawl.workers where host = $1 and id <> $2`, [self.host, self.id])
  return rows.map((row) => neighbour.parse(row))
}

/** Drops the rows of processes silent for long; they hold nothing, their leases ended before. While a loss stands, those it waits for are named as long as they would remember anything. */
export async function removeSilentWorkers(ledger: Ledger, afterMs: number = limits.workerGoneAfterMs): Promise<void> {
  await ledger.query(`delete from pawl.workers w where w.heartbeat_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
    and not exists (select 1 from pawl.ledger l where w.started_at <= l.noticed_at and w.reported_loss is distinct from l.noticed_at
      and w.heartbeat_at > clock_timestamp() - make_interval(secs => $2::double precision / 1000))`, [afterMs, limits.rememberedForMs])
}

/** Takes or keeps the sweeper's lease. False: another process sweeps. Renewed only by a completed cycle (`cycle` true), so that a sweeper that reaches Postgres but not the queue loses it. */
export async function holdSweeper(ledger: Ledger, holder: string, leaseMs: number, cycle: boolean): Promise<boolean> {
  const rows = await ledger.query(`update pawl.sweeper set holder = $1, lease_until = clock_timestamp() + make_interval(secs => $2::double precision / 1000), cycles = cycles + $3
    where ${cycle ? 'holder = $1' : 'holder is null or lease_until < clock_timestamp() or lease_until > clock_timestamp() + make_interval(secs => $2::double precision / 500)'} returning one`,
  [holder, leaseMs, cycle ? 1 : 0])
  return rows.length > 0
}

/** Gives the lease up at a stop, so that the next sweeper need not wait for it. */
export async function leaveSweeper(ledger: Ledger, holder: string): Promise<void> {
  await ledger.query('update pawl.sweeper set holder = null, lease_until = null where holder = $1', [holder])
}

/** What a worker looks at of the runs it works for: paused ones are handed back at the next call boundary, and so are those whose pins were changed. */
export interface HeldRun {
  readonly id: string
  readonly paused: boolean
  /** Of the pins, compared as one text. */
  readonly pins: string
}

export const pinsText = (run: { agent_version: string; model_version: string | null; prompt_version: string | null }): string =>
  JSON.stringify([run.agent_version, run.model_version, run.prompt_version])

/** An ended run's items are fenced, and its settle item goes on. */
export async function lookAtRuns(ledger: Ledger, runIds: readonly string[]): Promise<HeldRun[]> {
  if (runIds.length === 0) return []
  const rows = await ledger.query<{ id: string; paused: boolean; agent_version: string; model_version: string | null; prompt_version: string | null }>(
    `select r.id, r.paused, r.agent_version, r.model_version, r.prompt_version from pawl.runs r where r.id in (select x::uuid from json_array_elements_text($1::json) as x)`, [JSON.stringify(runIds)])
  return rows.map((row) => ({ id: row.id, paused: row.paused, pins: pinsText(row) }))
}

/** Agent versions of open runs that no live process serves. */
export async function listUnservedVersions(ledger: Ledger): Promise<{ agent: string; version: string }[]> {
  return await ledger.query<{ agent: string; version: string }>(`select distinct r.agent, r.agent_version as version from pawl.runs r
    where r.status in ('splitting', 'running', 'finalizing', 'compensating') and not r.paused
    and not exists (select 1 from pawl.workers w where (w.builds -> (r.agent || '@' || r.agent_version) ->> case when r.status = 'splitting' then 'splits' else 'items' end)::boolean)`)
}

/** `block_unserved`: how many were blocked `version`. */
export async function blockUnserved(ledger: Ledger, agent: string, version: string): Promise<number> {
  return (await runVerbOnce(ledger, 'block_unserved', [agent, version], z.object({ block_unserved: z.number() }))).block_unserved
}
