/**
 * What must hold of a ledger after any fault, once it is quiet: each a statement that must find nothing.
 * `$1` is a run's id, or null for all. The numbers are those of the design's list;
 * those that need a record of what receivers saw are in `oracle.ts`.
 */
import { limits } from '@pawl/core'

export interface Invariant {
  readonly invariant: number
  /** kebab-case, unique. */
  readonly name: string
  readonly sentence: string
  /** Finds violations: rows that name their run. */
  readonly sql: string
}

const ended = `('completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue')`
const live = `('pending', 'in_progress', 'blocked')`
const ofRun = (column: string): string => `($1::uuid is null or ${column} = $1::uuid)`

/** The times in which a run was cancelled or compensating, from its events: nothing new may be sent then. */
export const stops = (run: string): string => `stops as (select * from (
  select e.run_id, e.kind, e.data, e.at, lead(e.at) over (partition by e.run_id order by e.id) as ends_at from pawl.events e
  where (${run}::uuid is null or e.run_id = ${run}::uuid) and e.kind in ('run.ended', 'run.compensating', 'run.resumed')) x
  where x.kind = 'run.compensating' or (x.kind = 'run.ended' and x.data ->> 'status' = 'cancelled'))`

export const invariants: readonly Invariant[] = [
  {
    invariant: 1, name: 'nothing-missing', sentence: 'Every acknowledged run and item exists.',
    sql: `select k.run_id, 'run' as missing, k.key as named_by from pawl.run_keys k where ${ofRun('k.run_id')} and not exists (select 1 from pawl.runs r where r.id = k.run_id)
        and not exists (select 1 from pawl.events e where e.run_id = k.run_id and e.kind = 'run.pruned')
      union all select i.run_id, 'run', 'item ' || i.seq from pawl.items i where ${ofRun('i.run_id')} and not exists (select 1 from pawl.runs r where r.id = i.run_id)
      union all select a.run_id, 'item ' || a.item_seq, 'action ' || a.key from pawl.actions a where ${ofRun('a.run_id')} and not exists (select 1 from pawl.items i where i.run_id = a.run_id and i.seq = a.item_seq)
      union all select k.run_id, 'item ' || k.item_seq, 'record ' || k.name from pawl.records k where ${ofRun('k.run_id')} and not exists (select 1 from pawl.items i where i.run_id = k.run_id and i.seq = k.item_seq)
      union all select e.run_id, 'items', 'event ' || e.id from pawl.events e where ${ofRun('e.run_id')} and e.kind = 'run.sealed'
        and (e.data ->> 'items')::integer > (select count(*) from pawl.items i where i.run_id = e.run_id and i.kind = 'work')`,
  },
  {
    invariant: 2, name: 'ended-or-blocked', sentence: 'Every item has ended, is held by a live lease, waits to be run, or is blocked for a named reason that still holds.',
    sql: `select i.run_id, i.seq, i.status, i.blocked_reason, i.lease_until from pawl.items i where ${ofRun('i.run_id')} and (
        (i.status = 'blocked') <> (i.blocked_reason is not null)
        or (i.status = 'in_progress' and (i.lease_until is null or i.lease_until < clock_timestamp() - interval '1 minute'))
        or (i.status = 'blocked' and i.blocked_reason in ('in_doubt', 'key', 'approval', 'question') and not pawl.reason_holds(i.run_id, i.seq, i.blocked_reason, i.blocked_detail)))`,
  },
  {
    invariant: 8, name: 'epochs-rise', sentence: 'Epochs never fall, and no action carries an epoch above its item’s or its settler’s.',
    sql: `select i.run_id, i.seq, i.epoch, i.attempts as above from pawl.items i where ${ofRun('i.run_id')} and i.epoch < i.attempts
      union all select a.run_id, a.item_seq, i.epoch, a.epoch from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq
        where ${ofRun('a.run_id')} and a.epoch > i.epoch
        and not exists (select 1 from pawl.items s where s.run_id = a.run_id and s.kind in ('compensate', 'settle') and s.epoch >= a.epoch)`,
  },
  {
    invariant: 9, name: 'ended-nothing-open', sentence: 'An item that is done or compensated has no open action, but one that was brought back for the end of its run.',
    sql: `select a.run_id, a.item_seq, a.key, a.status from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq join pawl.runs r on r.id = a.run_id
      where ${ofRun('a.run_id')} and i.status in ('done', 'compensated') and a.status in ('started', 'in_doubt', 'awaiting_approval')
      and not (i.seq = a.staged_by and r.status in ('splitting', 'running'))`,
  },
  {
    invariant: 10, name: 'doubt-blocks', sentence: 'A live item with an action in doubt is blocked for it.',
    sql: `select a.run_id, a.item_seq, a.key, i.status, i.blocked_reason from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq join pawl.runs r on r.id = a.run_id
      where ${ofRun('a.run_id')} and a.status = 'in_doubt' and i.status in ${live} and i.blocked_reason is distinct from 'in_doubt'
      and not (i.status = 'in_progress' and i.lease_until > clock_timestamp()) and not (i.status = 'pending' and r.paused)`,
  },
  {
    invariant: 11, name: 'counters-equal-counts', sentence: 'Counters equal what they count.',
    sql: `select r.id as run_id, 'items_total' as counter, r.items_total as says, (select count(*) from pawl.items i where i.run_id = r.id and i.kind = 'work')::integer as counted
        from pawl.runs r where ${ofRun('r.id')} and r.started_at is not null and r.items_total <> (select count(*) from pawl.items i where i.run_id = r.id and i.kind = 'work')
      union all select r.id, 'next_seq', r.next_seq, (select max(i.seq) from pawl.items i where i.run_id = r.id) from pawl.runs r
        where ${ofRun('r.id')} and r.next_seq <= (select max(i.seq) from pawl.items i where i.run_id = r.id)
      union all select i.run_id, 'tokens_used of item ' || i.seq, i.tokens_used::double precision, coalesce(t.tokens, 0)::double precision from pawl.items i
        left join lateral (select sum(x.input_tokens + x.output_tokens) as tokens from pawl.turns x where x.run_id = i.run_id and x.item_seq = i.seq) t on true
        where ${ofRun('i.run_id')} and i.tokens_used <> coalesce(t.tokens, 0)
      union all select a.run_id, 'sends of ' || a.key, a.sends, a.attempt from pawl.actions a where ${ofRun('a.run_id')} and (a.sends <> a.attempt or a.refused > a.sends
        or (a.sends < 1 and a.status not in ('awaiting_approval', 'rejected', 'staged', 'discarded')))`,
  },
  {
    invariant: 3, name: 'turn-before-its-calls', sentence: 'A call that a model decided names a turn that is recorded, and an item’s turns are numbered without a gap.',
    sql: `select a.run_id, a.item_seq, a.key, a.turn from pawl.actions a where ${ofRun('a.run_id')} and a.turn is not null
        and not exists (select 1 from pawl.turns t where t.run_id = a.run_id and t.item_seq = coalesce(a.staged_by, a.item_seq) and t.n = a.turn)
      union all select t.run_id, t.item_seq, null, max(t.n) from pawl.turns t where ${ofRun('t.run_id')} group by t.run_id, t.item_seq having max(t.n) <> count(*) or min(t.n) <> 1`,
  },
  {
    invariant: 12, name: 'ended-once', sentence: 'An ended run has no live item, and each ending has exactly one closing event.',
    sql: `select r.id as run_id, r.status, 'live item ' || i.seq as what from pawl.runs r join pawl.items i on i.run_id = r.id
        where ${ofRun('r.id')} and r.status in ${ended} and i.status in ${live} and i.kind <> 'settle'
      union all select r.id, r.status, closed.n || ' closing events of ending ' || r.ending from pawl.runs r
        cross join lateral (select count(*) as n from pawl.events e where e.run_id = r.id and e.kind = 'run.ended' and (e.data ->> 'ending')::integer = r.ending) closed
        where ${ofRun('r.id')} and closed.n <> case when r.status in ${ended} then 1 else 0 end
      union all select e.run_id, null, count(*) || ' closing events of ending ' || (e.data ->> 'ending') from pawl.events e
        where ${ofRun('e.run_id')} and e.kind = 'run.ended' group by e.run_id, e.data ->> 'ending' having count(*) > 1`,
  },
  {
    invariant: 13, name: 'one-finalizer-last', sentence: 'There is one finalizer at a time, made after every work item has ended.',
    sql: `select f.run_id, count(*)::text as what from pawl.items f where ${ofRun('f.run_id')} and f.kind = 'finalize' and f.status in ${live} group by f.run_id having count(*) > 1
      union all select f.run_id, 'item ' || i.seq || ' is ' || i.status from pawl.items f join pawl.items i on i.run_id = f.run_id and i.kind = 'work' and i.status in ${live}
        where ${ofRun('f.run_id')} and f.kind = 'finalize' and f.status in ${live}
      union all select f.run_id, 'item ' || i.seq || ' ended later' from pawl.runs r join pawl.items f on f.run_id = r.id and f.key = 'finalize-' || r.ending and f.kind = 'finalize'
        join pawl.items i on i.run_id = f.run_id and i.kind = 'work' and i.finished_at > f.created_at where ${ofRun('r.id')} and r.status <> 'cancelled'`,
  },
  {
    invariant: 14, name: 'undone-newest-first', sentence: 'Undos are committed newest write first, one per write.',
    sql: `select x.run_id, x.key, x.undoes, x.order_no, x.before as undone_before from (
        select u.run_id, u.key, u.undoes, o.order_no, lag(o.order_no) over (partition by u.run_id, u.item_seq order by u.order_no) as before
        from pawl.actions u join pawl.actions o on o.run_id = u.run_id and o.id = u.undoes where ${ofRun('u.run_id')} and u.status = 'committed') x where x.before <= x.order_no
      union all select u.run_id, min(u.key), u.undoes, count(*), null from pawl.actions u where ${ofRun('u.run_id')} and u.undoes is not null and u.status = 'committed'
        group by u.run_id, u.undoes having count(*) > 1`,
  },
  {
    invariant: 15, name: 'compensated-means-undone', sentence: 'In a compensated run every committed write has a committed undo; what has none is counted as residue.',
    sql: `select a.run_id, a.key, a.status from pawl.actions a join pawl.runs r on r.id = a.run_id
        where ${ofRun('a.run_id')} and r.status = 'compensated' and a.undoes is null and a.effect <> 'read' and a.status in ('committed', 'abandoned')
      union all select o.run_id, o.key, o.status from pawl.actions o where ${ofRun('o.run_id')} and o.status = 'compensated'
        and not exists (select 1 from pawl.actions u where u.run_id = o.run_id and u.undoes = o.id and u.status = 'committed')
      union all select u.run_id, u.key, o.status from pawl.actions u join pawl.actions o on o.run_id = u.run_id and o.id = u.undoes
        where ${ofRun('u.run_id')} and u.status = 'committed' and o.status <> 'compensated'
      union all select r.id, 'residue says ' || (e.data ->> 'residue'), r.status from pawl.runs r join pawl.events e on e.run_id = r.id and e.kind = 'run.ended' and (e.data ->> 'ending')::integer = r.ending
        where ${ofRun('r.id')} and r.status = 'compensated_with_residue' and (e.data ->> 'residue')::bigint
          <> (select count(*) from pawl.actions a where a.run_id = r.id and a.undoes is null and a.effect <> 'read' and a.status in ('committed', 'abandoned'))`,
  },
  {
    invariant: 16, name: 'no-intent-after-stop', sentence: 'No forward intent follows the event that cancelled its run or began its compensation; re-calls that can be undone apart.',
    sql: `with ${stops('$1')} select a.run_id, a.item_seq, a.key, a.started_at, s.kind as after from stops s
      join pawl.actions a on a.run_id = s.run_id and a.undoes is null and a.started_at > s.at and not (a.attempt > 1 and a.effect = 'idempotent' and a.undo is not null) and (s.ends_at is null or a.started_at <= s.ends_at)`,
  },
  {
    invariant: 17, name: 'sent-after-a-yes', sentence: 'A call that needed a person’s yes was sent only after a yes to this very call, which was used for nothing else.',
    sql: `select a.run_id, a.item_seq, a.key, a.status, p.status as approval from pawl.actions a left join pawl.approvals p on p.run_id = a.run_id and p.id = a.approval_id
        where ${ofRun('a.run_id')} and a.approval_id is not null and a.status in ('started', 'committed', 'in_doubt', 'abandoned', 'compensated')
        and (p.status is distinct from 'approved' or p.consumed_at is null or p.decided_by is null or p.action_id <> a.id or p.args_digest <> a.args_digest or p.tool <> a.tool or p.tool_version <> a.tool_version)
        and not exists (select 1 from pawl.events e where e.run_id = a.run_id and e.kind = 'action.brought_back' and (e.data ->> 'action')::bigint = a.id)
      union all select p.run_id, p.item_seq, a.key, a.status, p.status from pawl.approvals p join pawl.actions a on a.run_id = p.run_id and a.id = p.action_id
        where ${ofRun('p.run_id')} and p.consumed_at is not null and (p.status <> 'approved' or a.sends < 1)`,
  },
  {
    invariant: 18, name: 'pins-keep', sentence: 'The pins of a run are equal in all its attempts, unless it was repinned between them, and they are the run’s own.',
    sql: `with t as (select a.run_id, a.item_seq, a.epoch, a.started_at, row(a.agent_version, a.model_version, a.prompt_version, a.lock_digest)::text as pins,
          (select count(*) from pawl.events e where e.run_id = a.run_id and e.kind = 'run.repinned' and e.at <= a.started_at) as repins
        from pawl.attempts a join pawl.runs r on r.id = a.run_id where ${ofRun('a.run_id')} and (a.lock_digest is not null or r.lock_digest is null))
      select t.run_id, min(t.item_seq) as item_seq, count(distinct t.pins)::text || ' pins without a repin between' as what from t
        where not exists (select 1 from pawl.events e where e.run_id = t.run_id and e.kind = 'run.repinned' and e.at between t.started_at - interval '5 ms' and t.started_at + interval '5 ms')
        group by t.run_id, t.repins having count(distinct t.pins) > 1
      union all select t.run_id, t.item_seq, 'attempt ' || t.epoch || ' ran under ' || t.pins from t join pawl.runs r on r.id = t.run_id
        where t.repins = (select count(*) from pawl.events e where e.run_id = t.run_id and e.kind = 'run.repinned')
        and not exists (select 1 from pawl.events e where e.run_id = t.run_id and e.kind = 'run.repinned' and e.at between t.started_at - interval '5 ms' and t.started_at + interval '5 ms')
        and t.pins <> row(r.agent_version, r.model_version, r.prompt_version, r.lock_digest)::text`,
  },
  {
    invariant: 19, name: 'ended-rows-keep', sentence: 'Ended items hold no lease, say when they ended, and are guarded against every other change.',
    sql: `select i.run_id, i.seq, i.status, i.lease_until, i.finished_at from pawl.items i where ${ofRun('i.run_id')} and i.status not in ${live}
        and (i.lease_until is not null or i.worker_id is not null or i.finished_at is null)
      union all select null, null, 'the trigger keep_ended_items is missing or off', null, null
        where not exists (select 1 from pg_trigger t where t.tgrelid = 'pawl.items'::regclass and t.tgname = 'keep_ended_items' and t.tgenabled in ('O', 'A'))`,
  },
  {
    invariant: 20, name: 'due-is-rung-for', sentence: 'Every due item has a job within the sweep interval, unless its run’s window is full.',
    sql: `select x.run_id, x.due from (
        select r.id as run_id, r.policy, count(*) filter (where i.status = 'pending' and i.dispatched_at is null and i.available_at < clock_timestamp() - interval '1 minute'
          and (i.kind <> 'work' or (r.status = 'running' and r.started_at < clock_timestamp() - interval '1 minute')))::integer as due,
        count(*) filter (where i.status = 'in_progress' or (i.status = 'pending' and i.dispatched_at is not null) or (i.status = 'blocked' and i.blocked_reason = 'version')) as out
        from pawl.runs r join pawl.items i on i.run_id = r.id and i.status in ${live} where ${ofRun('r.id')} and not r.paused group by r.id, r.policy) x
      where x.due > 0 and x.out < least(${limits.dispatchWindow}, coalesce((x.policy ->> 'maxConcurrency')::integer, ${limits.dispatchWindow}))`,
  },
  {
    invariant: 21, name: 'doubt-needs-proof', sentence: 'No doubt is resolved without evidence or a person, and failed means that every send is proved not applied.',
    sql: `select a.run_id, a.key, a.status, a.settled_by from pawl.actions a where ${ofRun('a.run_id')} and (
        (a.status = 'failed' and a.refused <> a.sends)
        or (a.status in ('committed', 'failed', 'abandoned') and a.settled_by is null)
        or (a.status = 'abandoned' and a.settled_by not like 'person:%')
        or (a.settled_by = 'evidence' and a.applied_evidence is null)
        or (a.settled_by like 'person:%' and not exists (select 1 from pawl.events e where e.run_id = a.run_id and e.kind in ('action.answered', 'approval.rejected') and (e.data ->> 'action')::bigint = a.id and 'person:' || e.actor = a.settled_by)))
      union all select a.run_id, a.key, a.status, a.settled_by from pawl.events e join pawl.actions a on a.run_id = e.run_id and a.id = (e.data ->> 'action')::bigint
        where ${ofRun('e.run_id')} and e.kind = 'action.in_doubt' and a.status = 'committed' and a.settled_by = 'worker' and a.attempt = 1`,
  },
]
