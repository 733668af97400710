-- add_refusal: unfenced, by the one that made this send: it was never made, or its tool proved it not applied. Facts are not state, and a worker that
-- lost its item is often the only one that knows. The token names the send: a newer send under the key, or a send that was counted already, takes nothing.
-- Only when every send under the key is refused, and no proof says otherwise, the call is `failed` (sent again when asked for), also out of a doubt.
-- Locks: item, then action. Returns the action's status, or null when there is no such send.
create or replace function pawl.add_refusal(p_run uuid, p_key text, p_token uuid, p_error text) returns text language plpgsql as $$
declare a pawl.actions;
begin
  select * into a from pawl.actions x where x.run_id = p_run and x.key = p_key and x.token = p_token;
  if not found then return null; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = a.item_seq for update;
  update pawl.actions x set refused = x.refused + 1, token = null, error = p_error,
    status = case when x.refused + 1 >= x.sends and x.applied_evidence is null then 'failed' else x.status end,
    settled_by = case when x.refused + 1 >= x.sends and x.applied_evidence is null then 'worker' else x.settled_by end,
    answerable_at = case when x.refused + 1 >= x.sends and x.applied_evidence is null then null else x.answerable_at end
    where x.run_id = p_run and x.id = a.id and x.token = p_token and x.status in ('started', 'in_doubt') returning * into a;
  if not found then return null; end if;
  if a.status = 'failed' then
    insert into pawl.events (run_id, item_seq, kind, actor, data)
      values (p_run, a.item_seq, 'action.settled', 'pawl', jsonb_build_object('action', a.id, 'tool', a.tool, 'status', a.status, 'by', a.settled_by));
  end if;
  return a.status;
end $$;
