-- repin_run: moves a run to other pins on purpose. What is live gets a new generation, so that every doorbell rung under the old pins is stale;
-- blocked `version` goes back to pending; an item in progress is handed back by its worker at the next call boundary, and what it wrote until then
-- stands under the old pins. The schema stays: the run's input and payloads are what they were. Locks: run, then items in order.
-- p_expected: the version the caller looked at; another one now is refused. Returns (outcome, status, version, moved): repinned | changed | wrong_state | missing.
create or replace function pawl.repin_run(
  p_run uuid, p_expected text, p_version text, p_model text, p_prompt text, p_lock text, p_tools jsonb, p_actor text, p_reason text
) returns table (outcome text, status text, version text, moved integer) language plpgsql as $$
declare r pawl.runs;
begin
  moved := 0;
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := r.status; version := r.agent_version;
  if r.status = 'compensated' then outcome := 'wrong_state'; return next; return; end if;
  if r.agent_version <> p_expected then outcome := 'changed'; return next; return; end if;
  update pawl.runs x set agent_version = p_version, model_version = p_model, prompt_version = p_prompt, lock_digest = p_lock, tools = p_tools where x.id = p_run;
  update pawl.items i set generation = i.generation + 1,
    status = case when i.status = 'blocked' and i.blocked_reason = 'version' then 'pending' else i.status end,
    blocked_reason = case when i.blocked_reason = 'version' then null else i.blocked_reason end,
    blocked_detail = case when i.blocked_reason = 'version' then null else i.blocked_detail end,
    dispatched_at = null, available_at = case when i.status = 'blocked' and i.blocked_reason = 'version' then i.created_at else i.available_at end
    from (select x.seq from pawl.items x where x.run_id = p_run and x.status in ('pending', 'in_progress', 'blocked') order by x.seq for update) l
    where i.run_id = p_run and i.seq = l.seq;
  get diagnostics moved = row_count;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.repinned', p_actor, jsonb_build_object(
    'from', jsonb_build_object('version', r.agent_version, 'model', r.model_version, 'prompt', r.prompt_version, 'lock', r.lock_digest),
    'to', jsonb_build_object('version', p_version, 'model', p_model, 'prompt', p_prompt, 'lock', p_lock), 'moved', moved, 'reason', p_reason));
  outcome := 'repinned'; version := p_version;
  return next;
end $$;
