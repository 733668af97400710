-- open_split_stream: a claimed split item begins its stream of items, fenced by its epoch: a split that wakes late cannot close the new one's stream.
-- Locks: run, then item. Returns the stream's number; null when fenced or the run is sealed already.
create or replace function pawl.open_split_stream(p_run uuid, p_seq integer, p_epoch integer) returns integer language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' and i.kind = 'split' for update;
  if not found or r.status <> 'splitting' then return null; end if;
  update pawl.runs x set stream_no = x.stream_no + 1 where x.id = p_run;
  return r.stream_no + 1;
end $$;
