/** What the demo reads from the ledger about a run. It proves by these rows and by the outside world, never by its own counters. */
import type { Ledger } from '@pawl/ledger'

export interface InFlight {
  readonly pid: number
  readonly workerId: string
  readonly key: string
  readonly attempt: number
}

export interface Moment {
  readonly status: string
  readonly done: number
  readonly failed: number
  readonly blocked: number
  readonly total: number
  readonly open: number
  readonly committed: number
  readonly inFlight: readonly InFlight[]
}

export async function readMoment(ledger: Ledger, runId: string): Promise<Moment> {
  const [row] = await ledger.query<Record<string, unknown>>(`select r.status, r.items_total as total,
    (select json_object_agg(s.status, s.n) from (select i.status, count(*) as n from pawl.items i where i.run_id = r.id and i.kind = 'work' group by 1) s) as items,
    (select count(*)::integer from pawl.items i where i.run_id = r.id and i.status in ('pending', 'in_progress')) as open,
    (select count(*)::integer from pawl.items i where i.run_id = r.id and i.status = 'blocked') as blocked,
    (select count(*)::integer from pawl.actions a where a.run_id = r.id and a.status in ('committed', 'compensated')) as committed,
    (select json_agg(json_build_object('pid', w.pid, 'workerId', w.id, 'key', a.key, 'attempt', a.attempt)) from pawl.actions a
      join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq join pawl.workers w on w.id = i.worker_id
      where a.run_id = r.id and a.status = 'started' and a.effect <> 'read' and i.status = 'in_progress' and i.epoch = a.epoch) as "inFlight"
    from pawl.runs r where r.id = $1`, [runId], { retryForMs: 60_000 })
  const items = (row?.['items'] ?? {}) as Record<string, number>
  return {
    status: String(row?.['status']), done: (items['done'] ?? 0) + (items['compensated'] ?? 0), failed: items['failed'] ?? 0, blocked: Number(row?.['blocked']), total: Number(row?.['total']),
    open: Number(row?.['open']), committed: Number(row?.['committed']), inFlight: (row?.['inFlight'] ?? []) as InFlight[],
  }
}

export interface Held {
  readonly seq: number
  readonly epoch: number
}

/** Items these workers hold. */
export async function listHeld(ledger: Ledger, runId: string, workerIds: readonly string[]): Promise<Held[]> {
  return (await ledger.query(`select seq, epoch from pawl.items where run_id = $1 and status = 'in_progress' and worker_id in (select x::uuid from json_array_elements_text($2::json) as x)`,
    [runId, JSON.stringify(workerIds)])).map((row) => ({ seq: Number(row['seq']), epoch: Number(row['epoch']) }))
}

/** Workers that hold an item of the run. */
export async function listHolders(ledger: Ledger, runId: string): Promise<{ workerId: string; pid: number }[]> {
  return (await ledger.query(`select distinct w.id, w.pid from pawl.items i join pawl.workers w on w.id = i.worker_id where i.run_id = $1 and i.status = 'in_progress' order by w.id`, [runId], { retryForMs: 60_000 }))
    .map((row) => ({ workerId: String(row['id']), pid: Number(row['pid']) }))
}

export async function listWorkers(ledger: Ledger): Promise<{ id: string; pid: number }[]> {
  return (await ledger.query('select id, pid from pawl.workers')).map((row) => ({ id: String(row['id']), pid: Number(row['pid']) }))
}

/** From a kill to the first new intent of an item the dead held, in milliseconds; undefined when all of them were done. */
export async function readResumeMs(ledger: Ledger, runId: string, held: readonly Held[], killedAtMs: number): Promise<number | undefined> {
  const [row] = await ledger.query(`select min(extract(epoch from a.started_at) * 1000)::double precision as at from pawl.actions a
    join json_to_recordset($2::json) as h(seq integer, epoch integer) on h.seq = a.item_seq and a.epoch > h.epoch
    where a.run_id = $1 and a.started_at > to_timestamp($3::double precision / 1000)`, [runId, JSON.stringify(held), killedAtMs])
  return row?.['at'] === null || row?.['at'] === undefined ? undefined : Math.round(Number(row['at']) - killedAtMs)
}

export interface Settlings {
  readonly recalled: number
  readonly verified: number
  readonly asked: number
}

export async function readSettlings(ledger: Ledger, runId: string): Promise<Settlings> {
  const [row] = await ledger.query(`select count(*) filter (where e.data ->> 'by' = 'recall')::integer as recalled, count(*) filter (where e.data ->> 'by' = 'verify')::integer as verified,
    (select count(*)::integer from pawl.events x where x.run_id = $1 and x.kind = 'action.answered') as asked from pawl.events e where e.run_id = $1 and e.kind = 'action.settled'`, [runId])
  return { recalled: Number(row?.['recalled']), verified: Number(row?.['verified']), asked: Number(row?.['asked']) }
}

/** Of the calls in flight at the kills, those whose sender did not live to record them. */
export async function countLeftInFlight(ledger: Ledger, runId: string, calls: readonly InFlight[]): Promise<number> {
  const [row] = await ledger.query(`select count(*)::integer as n from pawl.actions a join json_to_recordset($2::json) as x(key text, attempt integer) on x.key = a.key
    where a.run_id = $1 and (a.attempt > x.attempt or a.settled_by is distinct from 'worker')`, [runId, JSON.stringify(calls)])
  return Number(row?.['n'])
}

export async function listDoubts(ledger: Ledger, runId: string): Promise<{ id: number; tool: string; key: string; attempt: number; evidence: number; args: string; answerableAtMs: number }[]> {
  return (await ledger.query(`select id, tool, key, attempt, cardinality(evidence) as evidence, args, extract(epoch from answerable_at)::double precision * 1000 as at
    from pawl.actions where run_id = $1 and status = 'in_doubt'`, [runId], { retryForMs: 60_000 })).map((row) => ({
    id: Number(row['id']), tool: String(row['tool']), key: String(row['key']), attempt: Number(row['attempt']), evidence: Number(row['evidence']), args: String(row['args']), answerableAtMs: Number(row['at']),
  }))
}

export async function listCrashLoops(ledger: Ledger, runId: string): Promise<number[]> {
  return (await ledger.query(`select seq from pawl.items where run_id = $1 and status = 'blocked' and blocked_reason = 'crash_loop' order by seq`, [runId], { retryForMs: 60_000 })).map((row) => Number(row['seq']))
}
