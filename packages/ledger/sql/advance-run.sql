-- advance_run: every transition of a run that follows from its items alone, under the run's lock; repeatable, whoever calls it.
-- splitting with a failed split → failed, and what it had brought → cancelled (a resume brings it back). running with nothing live → finalizing, with its one finalize item, which takes over what
-- a finalizer of an earlier ending (cancelled, then resumed) left unsettled: an ended item has no holder to settle it.
-- finalizing whose finalize item failed → failed. Returns the run's status and whether a finalizer was made.
create or replace function pawl.advance_run(p_run uuid, out run_status text, out made boolean) language plpgsql as $$
declare
  r pawl.runs;
  why text;
begin
  made := false;
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then return; end if;
  run_status := r.status;
  if r.status = 'running' then
    if exists (select 1 from pawl.items i where i.run_id = p_run and i.status in ('pending', 'in_progress', 'blocked')) then return; end if;
    insert into pawl.items (run_id, seq, kind, key, payload) values (p_run, r.next_seq, 'finalize', 'finalize-' || r.ending, 'null')
      on conflict (run_id, kind, key) do nothing;
    update pawl.actions a set item_seq = r.next_seq, epoch = 0 from pawl.items i where a.run_id = p_run and a.status in ('started', 'in_doubt')
      and i.run_id = p_run and i.seq = a.item_seq and i.kind = 'finalize' and i.status = 'cancelled';
    update pawl.runs x set status = 'finalizing', next_seq = x.next_seq + 1 where x.id = p_run;
    run_status := 'finalizing'; made := true;
  elsif r.status in ('splitting', 'finalizing') then
    select i.error into why from pawl.items i where i.run_id = p_run and i.status = 'failed'
      and ((r.status = 'splitting' and i.kind = 'split') or (r.status = 'finalizing' and i.kind = 'finalize' and i.key = 'finalize-' || r.ending));
    if not found then return; end if;
    perform pawl.stop_items(p_run);
    update pawl.runs x set status = 'failed', error = why, finished_at = clock_timestamp() where x.id = p_run;
    insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.ended', 'pawl', jsonb_build_object('status', 'failed', 'ending', r.ending));
    run_status := 'failed';
  end if;
end $$;
