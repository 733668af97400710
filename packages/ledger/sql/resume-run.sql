-- resume_run: unpauses; an ended run (failed, completed_with_failures, cancelled) goes on: what failed or was cancelled is sent round again,
-- with failures and crash budget fresh. Nothing committed is repeated: the journal stays. Locks: run, then items.
-- Returns (outcome, status, reopened): resumed | wrong_state | missing.
drop function if exists pawl.resume_run(uuid, text);
create or replace function pawl.resume_run(p_run uuid, p_actor text, p_reason text default null) returns table (outcome text, status text, reopened integer) language plpgsql as $$
declare
  r pawl.runs;
  next_status text;
begin
  reopened := 0;
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := r.status;
  if r.status in ('failed', 'completed_with_failures', 'cancelled') then
    perform set_config('pawl.reopens', 'on', true);
    update pawl.items i set status = 'cancelled', epoch = i.epoch + 1, worker_id = null, lease_until = null, finished_at = clock_timestamp()
      where i.run_id = p_run and i.kind = 'settle' and i.status in ('pending', 'in_progress', 'blocked');
    -- Sealed once, sealed for good: a split that was stopped after its seal finds that out and is done.
    next_status := case when r.started_at is null then 'splitting' else 'running' end;
    update pawl.items i set status = 'pending', failures = 0, barren_attempts = 0, dispatched_at = null, available_at = i.created_at, finished_at = null
      from (select x.seq from pawl.items x where x.run_id = p_run and x.kind in ('work', 'split') and x.status in ('failed', 'cancelled') order by x.seq for update) l
      where i.run_id = p_run and i.seq = l.seq;
    get diagnostics reopened = row_count;
    -- What finished items had held back waits for the end again; items that run again make their calls anew.
    update pawl.actions a set status = 'staged', settled_by = null from pawl.items i
      where a.run_id = p_run and a.status = 'discarded' and a.settled_by = 'run.cancelled' and i.run_id = p_run and i.seq = a.staged_by and i.status = 'done';
    perform set_config('pawl.reopens', 'off', true);
    update pawl.runs x set status = next_status, paused = false, ending = x.ending + 1, finished_at = null, error = null,
      stream_alive_at = case when next_status = 'splitting' and not exists (select 1 from pawl.items i where i.run_id = p_run and i.kind = 'split') then clock_timestamp() end
      where x.id = p_run;
    status := next_status;
  elsif r.status in ('splitting', 'running', 'finalizing', 'compensating') then
    update pawl.runs x set paused = false where x.id = p_run;
  else outcome := 'wrong_state'; return next; return;
  end if;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.resumed', p_actor, jsonb_strip_nulls(jsonb_build_object('reopened', reopened, 'from', r.status, 'reason', p_reason)));
  outcome := 'resumed';
  return next;
end $$;
