-- close_compensation: the compensate item's own finish. Refused while anything is unsettled, proved applied after it was recorded failed, or a committed write with an undo still stands.
-- Residue: committed writes without an undo or whose undo was abandoned, and abandoned calls. Locks: run, then items. Returns (outcome, residue): closed | fenced | open.
create or replace function pawl.close_compensation(p_run uuid, p_seq integer, p_epoch integer) returns table (outcome text, residue integer) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if r.status is distinct from 'compensating' then outcome := 'fenced'; return next; return; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' and i.kind = 'compensate' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  if exists (select 1 from pawl.actions a where a.run_id = p_run and (a.status in ('started', 'in_doubt') or (a.status = 'failed' and a.applied_evidence is not null)
      or (a.status = 'committed' and a.undoes is null and a.effect <> 'read' and a.undo is not null
        and not exists (select 1 from pawl.actions u where u.run_id = p_run and u.undoes = a.id and u.status = 'abandoned')))) then outcome := 'open'; return next; return; end if;
  select count(*)::integer into residue from pawl.actions a where a.run_id = p_run and a.undoes is null and a.effect <> 'read' and a.status in ('committed', 'abandoned');
  perform set_config('pawl.reopens', 'on', true);
  update pawl.items i set status = 'compensated' from (select x.seq from pawl.items x where x.run_id = p_run and x.kind = 'work' order by x.seq for update) l
    where i.run_id = p_run and i.seq = l.seq and i.status <> 'compensated';
  perform set_config('pawl.reopens', 'off', true);
  update pawl.items i set status = 'done', worker_id = null, lease_until = null, barren_attempts = 0, finished_at = clock_timestamp() where i.run_id = p_run and i.seq = p_seq;
  update pawl.runs x set status = case when residue = 0 then 'compensated' else 'compensated_with_residue' end, finished_at = clock_timestamp() where x.id = p_run;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.ended', 'pawl',
    jsonb_build_object('status', case when residue = 0 then 'compensated' else 'compensated_with_residue' end, 'ending', r.ending, 'residue', residue));
  outcome := 'closed';
  return next;
end $$;
