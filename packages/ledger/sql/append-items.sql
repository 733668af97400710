-- append_items: one chunk of a stream. The run row is locked for the chunk, so a seal can never miss one.
-- A key that an earlier, broken stream brought is taken over; a key twice in this stream is named. Locks: run.
-- Returns (outcome, duplicates): added | closed | duplicate.
-- p_schema: of the payloads, where they come from a build with another schema than the run's.
drop function if exists pawl.append_items(uuid, integer, text[], text[]);
create or replace function pawl.append_items(p_run uuid, p_stream integer, p_keys text[], p_payloads text[], p_schema integer default null) returns table (outcome text, duplicates text[])
language plpgsql as $$
declare
  first_seq integer;
  taken integer;
begin
  select r.next_seq into first_seq from pawl.runs r where r.id = p_run and r.status = 'splitting' and r.stream_no = p_stream for update;
  if not found then outcome := 'closed'; return next; return; end if;
  select array_agg(d.key) into duplicates from (select x.key from unnest(p_keys) as x(key) group by x.key having count(*) > 1 limit 5) d;
  if duplicates is not null then outcome := 'duplicate'; return next; return; end if;
  select array_agg(i.key) into duplicates from (select i.key from pawl.items i where i.run_id = p_run and i.kind = 'work' and i.key = any (p_keys) and i.stream_no = p_stream limit 5) i;
  if duplicates is not null then outcome := 'duplicate'; return next; return; end if;
  insert into pawl.items as i (run_id, seq, kind, key, payload, stream_no, schema_version)
    select p_run, first_seq + (x.n - 1)::integer, 'work', x.key, x.payload, p_stream, p_schema
    from unnest(p_keys, p_payloads) with ordinality as x(key, payload, n) order by x.n
    on conflict (run_id, kind, key) do update set payload = excluded.payload, stream_no = excluded.stream_no, schema_version = excluded.schema_version;
  get diagnostics taken = row_count;
  update pawl.runs r set next_seq = first_seq + cardinality(p_keys), stream_alive_at = clock_timestamp() where r.id = p_run;
  outcome := 'added';
  return next;
end $$;
