-- discard_actions: calls an item kept (waiting for a yes, or held back) that its holder no longer makes. Locks: item (the fence), actions.
-- Returns true, or false when fenced.
create or replace function pawl.discard_actions(p_run uuid, p_seq integer, p_epoch integer, p_keys text[]) returns boolean language plpgsql as $$
begin
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then return false; end if;
  perform pawl.discard_calls(p_run, p_seq, p_keys, 'item');
  return true;
end $$;
