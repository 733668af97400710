-- stop_items: every live item of a run → cancelled, epoch+1, in order; nobody needs to answer its open questions any more. Called with the run's row locked.
create or replace function pawl.stop_items(p_run uuid) returns void language sql as $$
  update pawl.items i set status = 'cancelled', epoch = i.epoch + 1, worker_id = null, lease_until = null, dispatched_at = null,
    blocked_reason = null, blocked_detail = null, finished_at = clock_timestamp()
  from (select x.seq from pawl.items x where x.run_id = p_run and x.status in ('pending', 'in_progress', 'blocked') order by x.seq for update) l
  where i.run_id = p_run and i.seq = l.seq;
  update pawl.questions q set status = 'void' where q.run_id = p_run and q.status = 'open'
$$;
