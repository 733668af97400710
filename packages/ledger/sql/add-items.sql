-- add_items: a running item adds items to its run, fenced by its epoch. A key that is there with the same payload stays; with another it is a conflict.
-- Locks: run, then item. Returns (outcome, names): added | fenced | closed | conflict.
-- p_schema: of the payloads, where they come from a build with another schema than the run's; an item in another schema is another one, and stays.
drop function if exists pawl.add_items(uuid, integer, integer, text[], text[]);
create or replace function pawl.add_items(p_run uuid, p_seq integer, p_epoch integer, p_keys text[], p_payloads text[], p_schema integer default null) returns table (outcome text, names text[])
language plpgsql as $$
declare
  first_seq integer;
  taken integer;
begin
  select r.next_seq into first_seq from pawl.runs r where r.id = p_run and r.status = 'running' for update;
  if not found then outcome := 'closed'; return next; return; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  select array_agg(distinct c.key) into names from (
    select x.key from unnest(p_keys, p_payloads) as x(key, payload) join pawl.items i on i.run_id = p_run and i.kind = 'work' and i.key = x.key and i.payload <> x.payload
        and i.schema_version is not distinct from p_schema
    union all
    select x.key from unnest(p_keys, p_payloads) as x(key, payload) group by x.key having count(distinct x.payload) > 1) c;
  if names is not null then outcome := 'conflict'; return next; return; end if;
  insert into pawl.items (run_id, seq, kind, key, payload, schema_version)
    select p_run, first_seq + (x.n - 1)::integer, 'work', x.key, x.payload, p_schema from unnest(p_keys, p_payloads) with ordinality as x(key, payload, n) order by x.n
    on conflict (run_id, kind, key) do nothing;
  get diagnostics taken = row_count;
  update pawl.runs r set next_seq = first_seq + cardinality(p_keys), items_total = r.items_total + taken where r.id = p_run;
  outcome := 'added';
  return next;
end $$;
