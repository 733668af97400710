-- stage_action: the item's holder makes a call that is held back to the end of its run. Nothing is sent; the run's finalizer does that.
-- Locks: item (the fence), action. Returns (outcome, action): staged | exists (the row says what became of the key) | fenced.
create or replace function pawl.stage_action(p_run uuid, p_seq integer, p_epoch integer, p_call json) returns table (outcome text, action json) language plpgsql as $$
declare
  it pawl.items;
  a pawl.actions;
begin
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  a := pawl.keep_call(it, p_call, 'staged');
  outcome := case when a.id is null then 'exists' else 'staged' end;
  action := (select row_to_json(x.*) from pawl.actions x where x.run_id = p_run and x.key = p_call ->> 'key');
  return next;
end $$;
