-- start_run: the run, its key and (unless items are given) its split item, or the run the key already names.
-- p_trace: the trace context of whoever asked for it, a W3C traceparent; every process that works on the run goes on in that trace.
-- Waits for a concurrent start with the same key. Returns (outcome, run, digest): created | exists.
drop function if exists pawl.start_run(uuid, text, text, text, text, text, text, text, integer, text, text, jsonb, jsonb, text, boolean);
drop function if exists pawl.start_run(uuid, text, text, text, text, text, text, text, integer, text, text, jsonb, jsonb, text, boolean, jsonb);
create or replace function pawl.start_run(
  p_id uuid, p_namespace text, p_key text, p_digest text, p_agent text, p_version text, p_model text, p_prompt text, p_schema integer, p_lock text,
  p_input text, p_labels jsonb, p_policy jsonb, p_by text, p_split boolean, p_tools jsonb default null, p_trace text default null
) returns table (outcome text, run_id uuid, digest text, status text) language plpgsql as $$
begin
  while p_key is not null loop
    insert into pawl.run_keys (namespace, key, run_id, digest) values (p_namespace, p_key, p_id, p_digest) on conflict do nothing;
    exit when found;
    return query select 'exists'::text, k.run_id, k.digest, r.status from pawl.run_keys k left join pawl.runs r on r.id = k.run_id
      where k.namespace = p_namespace and k.key = p_key;
    if found then return; end if; -- else its stream was dropped in between, and the key is free
  end loop;
  insert into pawl.runs (id, namespace, agent, agent_version, model_version, prompt_version, schema_version, lock_digest, tools, input, labels, policy, status, created_by, trace_parent, stream_alive_at)
    values (p_id, p_namespace, p_agent, p_version, p_model, p_prompt, p_schema, p_lock, p_tools, p_input, p_labels, p_policy, 'splitting', p_by, p_trace,
      case when p_split then null else clock_timestamp() end);
  if p_split then
    insert into pawl.items (run_id, seq, kind, key, payload) values (p_id, 0, 'split', 'split', 'null');
  end if;
  insert into pawl.events (run_id, kind, actor) values (p_id, 'run.created', p_by);
  outcome := 'created'; run_id := p_id; digest := p_digest; status := 'splitting';
  return next;
end $$;
