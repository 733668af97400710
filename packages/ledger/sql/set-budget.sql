-- set_budget: a person gives a run, or each item of it, other limits for what its models may spend. Members that are not named stay as they are.
-- Locks: run, then the items it wakes. An item that parks for its budget at the same time is found by the sweep: waking is level-triggered.
-- Returns (outcome, status): set | missing.
create or replace function pawl.set_budget(p_run uuid, p_budget jsonb, p_item_budget jsonb, p_actor text, p_note text) returns table (outcome text, status text) language plpgsql as $$
declare r pawl.runs;
begin
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  update pawl.runs x set policy = x.policy
    || case when p_budget is null then '{}'::jsonb else jsonb_build_object('budget', coalesce(x.policy -> 'budget', '{}'::jsonb) || p_budget) end
    || case when p_item_budget is null then '{}'::jsonb else jsonb_build_object('itemBudget', coalesce(x.policy -> 'itemBudget', '{}'::jsonb) || p_item_budget) end
    where x.id = p_run;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.budget', p_actor, jsonb_strip_nulls(jsonb_build_object('budget', p_budget, 'itemBudget', p_item_budget, 'note', p_note)));
  perform pawl.wake_items(p_run);
  outcome := 'set'; status := r.status;
  return next;
end $$;
