-- close_run: the finalize item's own finish: it is done and the run has ended, or neither. Refused while any call of the item is open, or one that a
-- finished item held back to the end is not sent; what failed items held back is discarded, unless the run is held (`failed`) and may go on.
-- A call of the run that is unsettled and another item's is taken over first: every other item has ended, and nobody else would find out.
-- Locks: run, then item. Returns closed | fenced | open.
create or replace function pawl.close_run(p_run uuid, p_seq integer, p_epoch integer, p_status text, p_result text, p_error text) returns text language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if r.status is distinct from 'finalizing' then return 'fenced'; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' and i.kind = 'finalize' for update;
  if not found then return 'fenced'; end if;
  update pawl.actions a set item_seq = p_seq, epoch = 0 where a.run_id = p_run and a.item_seq <> p_seq and a.undoes is null and a.status in ('started', 'in_doubt');
  if exists (select 1 from pawl.actions a where a.run_id = p_run and a.item_seq = p_seq and a.status in ('started', 'in_doubt', 'awaiting_approval')) then return 'open'; end if;
  if p_status <> 'failed' then
    if exists (select 1 from pawl.actions a join pawl.items i on i.run_id = p_run and i.seq = a.staged_by and i.status = 'done'
      where a.run_id = p_run and a.status in ('staged', 'awaiting_approval')) then return 'open'; end if;
    perform pawl.discard_calls(p_run, null, null, 'run.ended');
  end if;
  update pawl.items i set status = 'done', result = p_result, worker_id = null, lease_until = null, barren_attempts = 0, finished_at = clock_timestamp()
    where i.run_id = p_run and i.seq = p_seq;
  update pawl.runs x set status = p_status, result = p_result, error = p_error, finished_at = clock_timestamp() where x.id = p_run;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.ended', 'pawl', jsonb_build_object('status', p_status, 'ending', r.ending));
  return 'closed';
end $$;
