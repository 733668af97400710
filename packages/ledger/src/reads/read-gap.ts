/** What may be missing after a failover or restore, as far as anybody can tell: the time in question, what workers remembered, and which items were at work. */
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

const lostCall = z.object({ run: z.string(), item: z.number(), key: z.string(), tool: z.string(), effect: z.string(), at: z.string(), why: z.enum(['missing', 'ended', 'twice']) })
const atWork = z.object({ run: z.string(), item: z.number(), key: z.string(), agent: z.string(), status: z.string(), calls: z.number() })
const silent = z.object({ name: z.string(), host: z.string(), pid: z.number(), seenAt: z.string() })
const gapRow = z.object({
  digest: z.string(), unreported: z.array(silent),
  noticedAt: z.date().nullable(), why: z.string().nullable(), keptUntil: z.date(), lostCalls: z.array(lostCall), broughtBack: z.coerce.number(),
  begun: z.coerce.number(), waiting: z.coerce.number(), firstBegun: z.array(atWork).nullable(),
})

/**
 * `keptUntil` to `noticedAt` (null: nobody has written it down yet): the time whose writes may be missing. `lostCalls`: remembered by a worker, and not to be brought back.
 * `broughtBack`: calls that are in the ledger again, unsettled. `begun`: live items that had been worked on, of which `firstBegun` lists at most 20; `waiting`: live items that
 * had not, as far as the ledger knows. `unreported`: workers of before the notice that have not said what they remember; one that died never will.
 * `digest`: a short name for the loss and its lost calls, as shown here; the clearing names it.
 */
export type Gap = z.infer<typeof gapRow>

export async function readGap(ledger: Ledger): Promise<Gap> {
  const [row] = await ledger.query(`
    with live as (select i.run_id, i.seq, i.key, i.status, i.attempts, r.agent from pawl.items i join pawl.runs r on r.id = i.run_id
      where i.status in ('pending', 'in_progress', 'blocked') and r.status <> 'splitting')
    select pawl.gap_digest(l) as digest,
      (select coalesce(json_agg(json_build_object('name', w.name, 'host', w.host, 'pid', w.pid, 'seenAt', w.heartbeat_at) order by w.heartbeat_at, w.id), '[]') from pawl.workers w
        where (l.noticed_at is null or w.started_at <= l.noticed_at) and not coalesce(w.reported_loss = l.noticed_at, false)) as unreported,
      l.noticed_at as "noticedAt", case when l.noticed_at is not null then l.noticed_why end as why,
      case when l.noticed_at is not null then l.kept_until else pawl.kept_until() end as "keptUntil", case when l.noticed_at is not null then l.lost_calls else '[]' end as "lostCalls",
      (select count(*) from pawl.events e where e.kind = 'action.brought_back' and e.at >= l.noticed_at) as "broughtBack",
      (select count(*) from live where attempts > 0) as begun, (select count(*) from live where attempts = 0) as waiting,
      (select json_agg(json_build_object('run', x.run_id, 'item', x.seq, 'key', x.key, 'agent', x.agent, 'status', x.status,
          'calls', (select count(*) from pawl.actions a where a.run_id = x.run_id and a.item_seq = x.seq)))
        from (select * from live where attempts > 0 order by run_id, seq limit 20) x) as "firstBegun"
    from pawl.ledger l`, [], { retryForMs: 3_000 })
  return gapRow.parse(row)
}
