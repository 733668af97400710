-- open_stream: begins (or continues after a break) the stream of a run's items; a late chunk of the earlier stream is refused from here on.
-- A stream that gave a sign of life within p_alive_ms is somebody else's. Locks: run. Returns the stream's number, 0 when in use, null when the run is not splitting.
create or replace function pawl.open_stream(p_run uuid, p_alive_ms integer) returns integer language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found or r.status <> 'splitting' then return null; end if;
  if r.stream_no > 0 and p_alive_ms > 0 and r.stream_alive_at between clock_timestamp() - make_interval(secs => p_alive_ms / 1000.0) and clock_timestamp() + make_interval(secs => p_alive_ms / 1000.0) then return 0; end if;
  update pawl.runs x set stream_no = x.stream_no + 1, stream_alive_at = clock_timestamp() where x.id = p_run;
  return r.stream_no + 1;
end $$;
