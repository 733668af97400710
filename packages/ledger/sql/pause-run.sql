-- pause_run: stops dispatch; running items hand back at their next call boundary. Locks: run. Returns (outcome, status): paused | wrong_state | missing.
drop function if exists pawl.pause_run(uuid, text);
create or replace function pawl.pause_run(p_run uuid, p_actor text, p_reason text default null) returns table (outcome text, status text) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := r.status;
  if r.status not in ('splitting', 'running', 'finalizing', 'compensating') then outcome := 'wrong_state'; return next; return; end if;
  if not r.paused then
    update pawl.runs x set paused = true where x.id = p_run;
    insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.paused', p_actor, jsonb_strip_nulls(jsonb_build_object('reason', p_reason)));
  end if;
  outcome := 'paused';
  return next;
end $$;
