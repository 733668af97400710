-- seal_run: the stream is complete: totals are fixed and the run may be dispatched; before this nothing is.
-- Items only an earlier, broken stream brought are not part of what was asked and go.
-- Same stream again (a lost answer): sealed, as it was. Locks: run. Returns (outcome, total): sealed | closed.
create or replace function pawl.seal_run(p_run uuid, p_stream integer, p_digest text) returns table (outcome text, total integer) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run and x.stream_no = p_stream for update;
  if not found or (r.status <> 'splitting' and r.started_at is null) then outcome := 'closed'; return next; return; end if;
  if r.status <> 'splitting' then outcome := 'sealed'; total := r.items_total; return next; return; end if;
  delete from pawl.items i where i.run_id = p_run and i.kind = 'work' and i.stream_no < p_stream;
  select count(*)::integer into total from pawl.items i where i.run_id = p_run and i.kind = 'work';
  update pawl.runs x set status = 'running', items_total = total, started_at = clock_timestamp(), stream_alive_at = null where x.id = p_run;
  update pawl.run_keys k set digest = p_digest where k.run_id = p_run and p_digest is not null;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.sealed', 'pawl', jsonb_build_object('items', total));
  outcome := 'sealed';
  return next;
end $$;
