-- start_compensation: every live item of the run leaves pending / in_progress / blocked in this one transaction (cancelled, epoch+1, lease gone),
-- so no claim, wake or flush can slip past it; calls that wait or are held back are discarded; then its one compensate item. Locks: run, then items in order. Returns (outcome, status): started | wrong_state.
create or replace function pawl.start_compensation(p_run uuid, p_actor text, p_reason text) returns table (outcome text, status text) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := r.status;
  if r.status not in ('running', 'finalizing', 'completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated_with_residue') then outcome := 'wrong_state'; return next; return; end if;
  perform pawl.stop_items(p_run);
  perform pawl.discard_calls(p_run, null, null, 'run.compensating');
  insert into pawl.items (run_id, seq, kind, key, payload) values (p_run, r.next_seq, 'compensate', 'compensate-' || r.next_seq, 'null');
  update pawl.runs x set status = 'compensating', next_seq = x.next_seq + 1, paused = false, finished_at = null, ending = x.ending + 1 where x.id = p_run;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.compensating', p_actor, jsonb_build_object('reason', p_reason));
  outcome := 'started'; status := 'compensating';
  return next;
end $$;
