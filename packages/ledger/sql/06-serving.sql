-- unserved_because: why a build may not run an item, as JSON for the page, or null when it may. Reads actions of the item; locks nothing.
-- A build serves an item when it has the run's agent version, its model and prompt, can read its schema, has the version of every tool the run began
-- with (effect class and key format the same: another key, and so another name, would send a finished call again), and of every call in the item's
-- journal that was made, unless a person repinned the run away from it: what is unsettled of that is asked about. A split calls no tools and no model. A settler or a compensation makes no new calls: there the journal is what is unsettled, and what this build cannot settle a person is asked.
-- p_builds null: a caller from before builds were told; it is trusted with what its queue gave it.
create or replace function pawl.unserved_because(r pawl.runs, it pawl.items, p_builds jsonb) returns jsonb language plpgsql as $$
declare
  build jsonb;
  lacking text[];
begin
  if p_builds is null then return null; end if;
  build := p_builds -> (r.agent || '@' || r.agent_version);
  if build is null or not coalesce((build ->> case when it.kind = 'split' then 'splits' else 'items' end)::boolean, false) then
    return jsonb_build_object('agent', r.agent, 'version', r.agent_version);
  end if;
  if it.kind in ('compensate', 'settle') then return null; end if;
  if it.kind <> 'split' and r.model_version is distinct from (build ->> 'model') and (r.tools is not null or r.model_version is not null) then
    return jsonb_build_object('agent', r.agent, 'version', r.agent_version, 'model', jsonb_build_object('run', r.model_version, 'build', build ->> 'model'));
  end if;
  if it.kind <> 'split' and r.prompt_version is distinct from (build ->> 'prompt') and (r.tools is not null or r.prompt_version is not null) then
    return jsonb_build_object('agent', r.agent, 'version', r.agent_version, 'prompt', jsonb_build_object('run', r.prompt_version, 'build', build ->> 'prompt'));
  end if;
  if r.schema_version > 0 and least(r.schema_version, it.schema_version) < (build ->> 'schemaFrom')::integer
     or greatest(r.schema_version, it.schema_version) > (build ->> 'schema')::integer then
    return jsonb_build_object('agent', r.agent, 'version', r.agent_version, 'schema', jsonb_build_object('run', r.schema_version, 'item', it.schema_version, 'build', build -> 'schema', 'from', build -> 'schemaFrom'));
  end if;
  if it.kind = 'split' then return null; end if;
  select array_agg(distinct need.what order by need.what) into lacking from (
    select p.key || '@' || (p.value ->> 'version') as what from jsonb_each(r.tools) p
      where r.lock_digest is distinct from (build ->> 'lock')
        and (build -> 'tools' ->> (p.key || '@' || (p.value ->> 'version'))) is distinct from (p.value ->> 'format')
    union all
    select a.tool || '@' || a.tool_version from pawl.actions a where a.run_id = it.run_id and a.item_seq = it.seq
      and a.status not in ('awaiting_approval', 'rejected', 'staged', 'discarded')
      and not (build -> 'tools') ? (a.tool || '@' || a.tool_version)
      and not ((r.tools -> a.tool ->> 'version') is distinct from a.tool_version
        and exists (select 1 from pawl.events e where e.run_id = it.run_id and e.kind = 'run.repinned'))) need;
  if lacking is null then return null; end if;
  return jsonb_build_object('agent', r.agent, 'version', r.agent_version, 'tools', to_jsonb(lacking));
end $$;

-- is_served: has a live process what the item needs? Rows of processes that are gone are removed by their supervisor, their successor or the sweep.
create or replace function pawl.is_served(r pawl.runs, it pawl.items) returns boolean language sql as $$
  select exists (select 1 from pawl.workers w where pawl.unserved_because(r, it, w.builds) is null)
$$;
