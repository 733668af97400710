-- cancel_run: ends the run now; live items → cancelled, epoch+1; calls that wait or are held back → discarded. Calls in flight are settled after the fact by a settle item and never revive it.
-- Locks: run, then items. Returns (outcome, status, unsettled): cancelled | wrong_state | missing.
create or replace function pawl.cancel_run(p_run uuid, p_actor text, p_reason text) returns table (outcome text, status text, unsettled integer) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := r.status;
  if r.status not in ('splitting', 'running', 'finalizing') then outcome := 'wrong_state'; return next; return; end if;
  perform pawl.stop_items(p_run);
  perform pawl.discard_calls(p_run, null, null, 'run.cancelled');
  select count(*)::integer into unsettled from pawl.actions a where a.run_id = p_run and a.status in ('started', 'in_doubt');
  if unsettled > 0 then
    insert into pawl.items (run_id, seq, kind, key, payload) values (p_run, r.next_seq, 'settle', 'settle-' || r.next_seq, 'null');
  end if;
  update pawl.runs x set status = 'cancelled', paused = false, next_seq = x.next_seq + 1, finished_at = clock_timestamp(), stream_alive_at = null where x.id = p_run;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.ended', p_actor, jsonb_build_object('status', 'cancelled', 'ending', r.ending, 'reason', p_reason));
  outcome := 'cancelled'; status := 'cancelled';
  return next;
end $$;
