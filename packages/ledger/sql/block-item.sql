-- block_item: the item gives its worker back and waits for a named reason.
-- Locks the item first (it is the mutex of all that belongs to it), then looks whether the reason still holds;
-- an answer that came while the item was parking sends it back to pending instead. Of several reasons the worst shows: what a person has to
-- answer comes before what another item has to do. Returns the new status, or null when fenced.
create or replace function pawl.block_item(p_run uuid, p_seq integer, p_epoch integer, p_reason text, p_detail text) returns text
language plpgsql as $$
declare
  holds boolean;
  doubt record;
begin
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then return null; end if;
  select a.id, a.tool into doubt from pawl.actions a where a.run_id = p_run and a.item_seq = p_seq and a.status = 'in_doubt' order by a.id limit 1;
  if found and p_reason <> 'in_doubt' then
    p_reason := 'in_doubt'; p_detail := json_build_object('action', doubt.id, 'tool', doubt.tool)::text;
  end if;
  holds := pawl.reason_holds(p_run, p_seq, p_reason, p_detail);
  update pawl.items i set status = case when holds then 'blocked' else 'pending' end,
    blocked_reason = case when holds then p_reason end, blocked_detail = case when holds then p_detail end,
    worker_id = null, lease_until = null, dispatched_at = null, barren_attempts = 0, allow_new_calls = false
    where i.run_id = p_run and i.seq = p_seq;
  if holds then
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, p_seq, 'item.blocked', 'pawl', jsonb_build_object('reason', p_reason));
  end if;
  return case when holds then 'blocked' else 'pending' end;
end $$;
