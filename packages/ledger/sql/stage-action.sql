-- stage_action: the item's holder makes a call that is held back to the end of its run. Nothing is sent; the run's finalizer does that.
-- Locks: item (the fence), action. Returns (outcome, action): staged |
-- held (an item that is done holds the same call back) | exists (the row says what became of the key; `staged`: by an item that may still fail) | fenced.
create or replace function pawl.stage_action(p_run uuid, p_seq integer, p_epoch integer, p_call json) returns table (outcome text, action json) language plpgsql as $$
declare
  it pawl.items;
  a pawl.actions;
begin
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  a := pawl.keep_call(it, p_call, 'staged');
  outcome := 'staged';
  if a.id is null then
    select * into a from pawl.actions x where x.run_id = p_run and x.key = p_call ->> 'key';
    outcome := case when a.args_digest = p_call ->> 'args_digest' and a.tool = p_call ->> 'tool' and pawl.is_held_back(a) then 'held' else 'exists' end;
  end if;
  action := row_to_json(a.*);
  return next;
end $$;
