-- advance_run: every transition of a run that follows from its items alone, under the run's lock; repeatable, whoever calls it.
-- splitting with a failed split → failed, and what it had brought → cancelled (a resume brings it back). running with nothing live → finalizing: with a finalize item of
-- its own, or, where the last one ended without closing its run (it failed, or was cancelled with it), with that one again: its journal holds what it has sent.
-- Either takes over what was brought back of calls it is to send for items that are done: an ended item has no holder to settle it.
-- finalizing whose finalize item failed → failed. Returns the run's status and whether there is a finalizer to ring for.
create or replace function pawl.advance_run(p_run uuid, out run_status text, out made boolean) language plpgsql as $$
declare
  r pawl.runs;
  last pawl.items;
  why text;
begin
  made := false;
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then return; end if;
  run_status := r.status;
  if r.status = 'running' then
    if exists (select 1 from pawl.items i where i.run_id = p_run and i.status in ('pending', 'in_progress', 'blocked')) then return; end if;
    select * into last from pawl.items i where i.run_id = p_run and i.kind = 'finalize' order by i.seq desc limit 1;
    if last.status in ('failed', 'cancelled') then
      perform set_config('pawl.reopens', 'on', true);
      update pawl.items i set status = 'pending', failures = 0, barren_attempts = 0, dispatched_at = null, available_at = i.created_at, finished_at = null
        where i.run_id = p_run and i.seq = last.seq;
      perform set_config('pawl.reopens', 'off', true);
      update pawl.runs x set status = 'finalizing' where x.id = p_run;
    else
      insert into pawl.items (run_id, seq, kind, key, payload) values (p_run, r.next_seq, 'finalize', 'finalize-' || r.ending, 'null') returning * into last;
      update pawl.runs x set status = 'finalizing', next_seq = x.next_seq + 1 where x.id = p_run;
    end if;
    update pawl.actions a set item_seq = last.seq, epoch = 0 from pawl.items i where a.run_id = p_run and a.status in ('started', 'in_doubt')
      and i.run_id = p_run and i.seq = a.item_seq and i.seq = a.staged_by and i.status = 'done';
    run_status := 'finalizing'; made := true;
  elsif r.status in ('splitting', 'finalizing') then
    select i.error into why from pawl.items i where i.run_id = p_run and i.status = 'failed'
      and ((r.status = 'splitting' and i.kind = 'split') or (r.status = 'finalizing' and i.kind = 'finalize'
        and not exists (select 1 from pawl.items n where n.run_id = p_run and n.kind = 'finalize' and n.seq > i.seq)));
    if not found then return; end if;
    perform pawl.stop_items(p_run);
    update pawl.runs x set status = 'failed', error = why, finished_at = clock_timestamp() where x.id = p_run;
    insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.ended', 'pawl', jsonb_build_object('status', 'failed', 'ending', r.ending));
    run_status := 'failed';
  end if;
end $$;
