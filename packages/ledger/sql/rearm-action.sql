-- rearm_action: "again" for an action that exists: a retry after failed, a re-call under the same key, a re-send after "it did not happen",
-- or the takeover of a key whose owner failed for good, or waits for a key itself. Fenced like an intent; never in the flush that completes the same key.
-- Locks: item, then action. Writes: attempt+1, sends+1, new token, new order number; key_expires_at never moves. The times a settler has to wait only grow:
-- another build of the tool may allow this send more than the first one.
-- Same token again (a lost answer): the same rearming. Returns (outcome, row): sent | fenced | evidence | key_expired | taken.
create or replace function pawl.rearm_action(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_token uuid, p_tool_version text, p_margin_ms integer, p_timeout_ms integer, p_settle_ms integer)
returns table (outcome text, action json, timeline text) language plpgsql as $$
declare
  it pawl.items;
  a pawl.actions;
begin
  timeline := pawl.history_now();
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  select * into a from pawl.actions x where x.run_id = p_run and x.key = p_key for update;
  if not found then outcome := 'taken'; return next; return; end if;
  action := row_to_json(a.*);
  if a.token = p_token then outcome := 'sent'; return next; return; end if;
  if a.applied_evidence is not null then outcome := 'evidence'; return next; return; end if;
  if a.item_seq <> p_seq and it.kind not in ('compensate', 'settle') and not (a.status = 'failed' and not exists (
      select 1 from pawl.items o where o.run_id = p_run and o.seq = a.item_seq
        and (o.status in ('pending', 'in_progress') or (o.status = 'blocked' and o.blocked_reason <> 'key')))) then
    outcome := 'taken'; return next; return;
  end if;
  if a.status not in ('failed', 'started') then outcome := 'taken'; return next; return; end if;
  if a.effect = 'idempotent' and a.sends > a.refused and a.key_expires_at is not null
     and a.key_expires_at <= clock_timestamp() + make_interval(secs => p_margin_ms / 1000.0) then
    outcome := 'key_expired'; return next; return;
  end if;
  update pawl.actions x set status = 'started', attempt = x.attempt + 1, sends = x.sends + 1, token = p_token, epoch = p_epoch,
    item_seq = case when it.kind in ('compensate', 'settle') and x.undoes is null then x.item_seq else p_seq end,
    order_no = nextval('pawl.order_no'), started_at = clock_timestamp(), error = null, tool_version = p_tool_version,
    timeout_ms = greatest(x.timeout_ms, p_timeout_ms), settle_ms = greatest(x.settle_ms, p_settle_ms), answerable_at = null, settled_by = null
    where x.run_id = p_run and x.id = a.id returning * into a;
  outcome := 'sent'; action := row_to_json(a.*);
  return next;
end $$;
