-- claim_items: makes items a worker's, for one lease.
-- Locks: items in order of (run, seq). Reads the journal in statements that start after the locks are held, so it is never stale.
-- Writes: attempts+1, epoch+1, barren_attempts+1, lease. Same nonce again (a lost answer): the same claim, nothing counted twice.
-- Nothing is claimed while the ledger's history is not known to be whole, nor for a doorbell that is ahead of its item: such a dispatch was forgotten.
-- What the claimer's build cannot serve is not claimed and no attempt is counted: it goes back for another process that can, or is blocked `version`
-- where no live one has what it lacks (the version itself apart: there the sweep waits out a deploy first). A run that began without pins gets the
-- claimer's. Each claim leaves a row in attempts: the pins it runs under, and the build. One that takes over an ended lease leaves an event, too.
-- Returns a verdict for each: claimed | missing | stale | ahead | untrusted | closed | leased | early | paused | suspect | blocked | unserved.
-- An earlier build's has no builds, turns and questions, and a function's answer cannot be widened in place.
drop function if exists pawl.claim_items(uuid[], integer[], integer[], uuid, uuid, integer, integer, integer, boolean);
create or replace function pawl.claim_items(
  p_runs uuid[], p_seqs integer[], p_generations integer[], p_worker uuid, p_nonce uuid,
  p_ttl_ms integer, p_crash_budget integer, p_suspect_after integer, p_alone boolean, p_builds jsonb default null
) returns table (run_id uuid, seq integer, verdict text, item json, run json, journal json, records json, turns json, questions json, timeline text)
language plpgsql as $$
declare
  w record;
  it pawl.items;
  r pawl.runs;
  build jsonb;
  why jsonb;
  claimed_runs uuid[] := '{}';
  claimed_seqs integer[] := '{}';
  is_known boolean := (select pawl.history_is_known(l) from pawl.ledger l);
begin
  for w in select distinct on (x.run, x.seq) x.run, x.seq, x.generation
           from unnest(p_runs, p_seqs, p_generations) as x(run, seq, generation) order by x.run, x.seq, x.generation desc nulls first loop
    run_id := w.run; seq := w.seq; item := null; run := null; journal := null; records := null; turns := null; questions := null; timeline := null;
    select * into it from pawl.items i where i.run_id = w.run and i.seq = w.seq for update;
    if not found then verdict := 'missing'; return next; continue; end if;
    if not is_known or w.generation > it.generation then
      verdict := case when is_known then 'ahead' else 'untrusted' end;
      if is_known then
        perform pawl.note_loss((select l.written_in from pawl.ledger l), format('a doorbell of item %s of run %s is generation %s, the ledger knows %s', w.seq, w.run, w.generation, it.generation), '[]');
      end if;
      update pawl.items i set dispatched_at = null where i.run_id = w.run and i.seq = w.seq and i.status = 'pending';
      timeline := pawl.history_now();
      return next; continue;
    end if;
    select * into r from pawl.runs x where x.id = w.run;
    if it.status = 'in_progress' and it.claim_nonce = p_nonce then
      null; -- this very claim, its answer was lost
    elsif it.status not in ('pending', 'in_progress') then verdict := 'closed'; return next; continue;
    elsif w.generation is not null and w.generation < it.generation then verdict := 'stale'; return next; continue;
    elsif it.status = 'in_progress' and not pawl.lease_is_over(it.lease_until, p_ttl_ms) then verdict := 'leased'; return next; continue;
    elsif it.status = 'pending' and it.available_at > clock_timestamp() and it.available_at > it.created_at then
      update pawl.items i set dispatched_at = null where i.run_id = w.run and i.seq = w.seq;
      verdict := 'early'; return next; continue;
    elsif r.paused and it.kind <> 'settle' then
      update pawl.items i set dispatched_at = null, status = 'pending', worker_id = null, lease_until = null where i.run_id = w.run and i.seq = w.seq;
      verdict := 'paused'; return next; continue;
    elsif it.barren_attempts >= p_crash_budget then
      update pawl.items i set status = 'blocked', blocked_reason = 'crash_loop', worker_id = null, lease_until = null,
        blocked_detail = json_build_object('barrenAttempts', it.barren_attempts)::text where i.run_id = w.run and i.seq = w.seq;
      insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run, w.seq, 'item.blocked', 'pawl', jsonb_build_object('reason', 'crash_loop'));
      verdict := 'blocked'; return next; continue;
    else
      why := pawl.unserved_because(r, it, p_builds);
      if why is not null and ((not why ?| array['model', 'prompt', 'schema', 'tools']) or pawl.is_served(r, it)) then
        update pawl.items i set status = 'pending', worker_id = null, lease_until = null, dispatched_at = null,
          available_at = clock_timestamp() + interval '1 second' where i.run_id = w.run and i.seq = w.seq;
        verdict := 'unserved'; return next; continue;
      elsif why is not null then
        update pawl.items i set status = 'blocked', blocked_reason = 'version', blocked_detail = why::text, worker_id = null, lease_until = null, dispatched_at = null
          where i.run_id = w.run and i.seq = w.seq;
        insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run, w.seq, 'item.blocked', 'pawl', jsonb_build_object('reason', 'version') || why);
        verdict := 'blocked'; return next; continue;
      elsif it.barren_attempts >= p_suspect_after and not p_alone then verdict := 'suspect'; return next; continue;
      end if;
      build := p_builds -> (r.agent || '@' || r.agent_version);
      if r.tools is null and build is not null then
        -- Never waits: the run's row comes before its items in the order of locks.
        perform 1 from pawl.runs x where x.id = w.run and x.tools is null for update skip locked;
        if found then
          update pawl.runs x set tools = build -> 'pins', lock_digest = build ->> 'lock', model_version = build ->> 'model', prompt_version = build ->> 'prompt',
            schema_version = case x.schema_version when 0 then (build ->> 'schema')::integer else x.schema_version end
            where x.id = w.run returning * into r;
        end if;
      end if;
      if it.status = 'in_progress' then
        insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run, w.seq, 'item.lease_ended', 'pawl', jsonb_build_object('worker', it.worker_id, 'epoch', it.epoch));
      end if;
      update pawl.items i set status = 'in_progress', attempts = i.attempts + 1, epoch = i.epoch + 1, barren_attempts = i.barren_attempts + 1,
        worker_id = p_worker, claim_nonce = p_nonce, lease_until = clock_timestamp() + make_interval(secs => p_ttl_ms / 1000.0),
        blocked_reason = null, blocked_detail = null, started_at = coalesce(i.started_at, clock_timestamp())
        where i.run_id = w.run and i.seq = w.seq returning i.epoch into it.epoch;
      insert into pawl.attempts (run_id, item_seq, epoch, worker_id, agent_version, model_version, prompt_version, schema_version, lock_digest, build_version)
        values (w.run, w.seq, it.epoch, p_worker, r.agent_version, coalesce(r.model_version, build ->> 'model'), coalesce(r.prompt_version, build ->> 'prompt'),
          coalesce(it.schema_version, r.schema_version), r.lock_digest, build ->> 'version');
    end if;
    claimed_runs := claimed_runs || w.run; claimed_seqs := claimed_seqs || w.seq;
  end loop;
  return query
    select c.run, c.seq, 'claimed'::text, row_to_json(i.*), row_to_json(x.*),
      (select json_agg(row_to_json(a.*) order by a.order_no) from pawl.actions a where a.run_id = c.run and a.item_seq = c.seq),
      (select json_agg(row_to_json(k.*) order by k.order_no) from pawl.records k where k.run_id = c.run and k.item_seq = c.seq),
      (select json_agg(row_to_json(t.*) order by t.n) from pawl.turns t where t.run_id = c.run and t.item_seq = c.seq),
      (select json_agg(row_to_json(q.*) order by q.order_no) from pawl.questions q where q.run_id = c.run and q.item_seq = c.seq),
      pawl.history_now()
    from unnest(claimed_runs, claimed_seqs) as c(run, seq)
    join pawl.items i on i.run_id = c.run and i.seq = c.seq
    join pawl.runs x on x.id = c.run;
end $$;
