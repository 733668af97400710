-- drop_stream: a stream that will not be completed leaves nothing behind, its key included. Locks: run. True when it was dropped.
create or replace function pawl.drop_stream(p_run uuid, p_stream integer) returns boolean language plpgsql as $$
begin
  perform 1 from pawl.runs r where r.id = p_run and r.status = 'splitting' and r.stream_no = p_stream
    and not exists (select 1 from pawl.items i where i.run_id = p_run and i.kind = 'split') for update;
  if not found then return false; end if;
  delete from pawl.items i where i.run_id = p_run;
  delete from pawl.events e where e.run_id = p_run;
  delete from pawl.run_keys k where k.run_id = p_run;
  delete from pawl.runs r where r.id = p_run;
  return true;
end $$;
