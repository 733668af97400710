-- compensate_by_policy: the finalize item's own word that its run is to be compensated, fenced like its finish: a finalizer that was taken over,
-- or whose run was cancelled and resumed meanwhile, starts nothing. Locks: run, then items in order. Returns started | fenced.
create or replace function pawl.compensate_by_policy(p_run uuid, p_seq integer, p_epoch integer, p_reason text) returns text language plpgsql as $$
begin
  perform 1 from pawl.runs x where x.id = p_run and x.status = 'finalizing' for update;
  if not found then return 'fenced'; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' and i.kind = 'finalize' for update;
  if not found then return 'fenced'; end if;
  perform pawl.start_compensation(p_run, 'policy', p_reason);
  return 'started';
end $$;
