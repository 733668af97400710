-- block_unserved: what was rung for and waits for an agent version that no live process serves becomes blocked `version`, visible and named.
-- Called by the sweep once nobody has served it for a while, so that a deploy does not flap. Waking is level-triggered (wake_items).
-- Locks: items in order, skipping what is being written. Returns how many.
create or replace function pawl.block_unserved(p_agent text, p_version text) returns integer language plpgsql as $$
declare
  w record;
  n integer := 0;
  why jsonb := jsonb_build_object('agent', p_agent, 'version', p_version);
begin
  for w in select i.run_id, i.seq from pawl.runs r join pawl.items i on i.run_id = r.id and i.status = 'pending' and i.dispatched_at is not null
           where r.agent = p_agent and r.agent_version = p_version and not pawl.is_served(r, i) order by i.run_id, i.seq for update of i skip locked loop
    -- Decided afresh with the row in hand: a process that has it may have come meanwhile.
    continue when not pawl.reason_holds(w.run_id, w.seq, 'version', null);
    update pawl.items i set status = 'blocked', blocked_reason = 'version', blocked_detail = why::text, dispatched_at = null
      where i.run_id = w.run_id and i.seq = w.seq and i.status = 'pending';
    continue when not found;
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run_id, w.seq, 'item.blocked', 'pawl', jsonb_build_object('reason', 'version') || why);
    n := n + 1;
  end loop;
  return n;
end $$;
