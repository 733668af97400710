-- start_bulk: one verb for many runs, written down as a whole before anything is done. The runs are those of the namespace that were named, or that the
-- caller's filter found; one that is not of the namespace is kept as missing, like one that does not exist. The same key again: the same bulk.
-- Locks: nothing. Returns (outcome, id, digest): created | exists.
create or replace function pawl.start_bulk(p_id uuid, p_namespace text, p_key text, p_digest text, p_verb text, p_by text, p_reason text, p_runs uuid[])
  returns table (outcome text, id uuid, digest text) language plpgsql as $$
begin
  insert into pawl.bulks as b (id, namespace, key, digest, verb, created_by, reason, total)
    values (p_id, p_namespace, p_key, p_digest, p_verb, p_by, p_reason, (select count(distinct x) from unnest(p_runs) as x))
    on conflict (namespace, key) do nothing;
  if not found then
    return query select 'exists'::text, b.id, b.digest from pawl.bulks b where b.namespace = p_namespace and b.key = p_key;
    return;
  end if;
  insert into pawl.bulk_runs (bulk_id, run_id, outcome, at)
    select p_id, x.run, case when r.id is null then 'missing' end, case when r.id is null then clock_timestamp() end
    from (select distinct unnest(p_runs) as run) x left join pawl.runs r on r.id = x.run and r.namespace = p_namespace;
  outcome := 'created'; id := p_id; digest := p_digest;
  return next;
end $$;
