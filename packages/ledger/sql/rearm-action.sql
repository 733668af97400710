-- rearm_action: "again" for an action that exists: a retry after failed, a re-call under the same key, a re-send after "it did not happen",
-- the first send of a call that waited for a yes or for the end of the run,
-- or the takeover of a key whose owner failed for good, or waits for a key itself. Fenced like an intent; never in the flush that completes the same key.
-- Where a person was asked, the yes is used here, in the statement that allows the send, and nowhere else: approved, not expired, for this tool,
-- version and digest. A first send takes one that is not used yet. A re-send of a call nobody knows the outcome of rests on the used one; so does a
-- retry of a refused call, unless its run was sent round again since. Else `approval`: it is asked for anew.
-- Locks: item, action, approval. Writes: attempt+1, sends+1, new token, new order number; key_expires_at is set once. The times a settler has to wait only grow:
-- another build of the tool may allow this send more than the first one.
-- A settler or a compensation sends another item's call again only while it is unsettled: one that was refused meanwhile was never made, and is not made now.
-- A turn is its item's: whoever takes a key over brings its own, or none; one that the finalizer sends for its item keeps it.
-- Same token again (a lost answer): the same rearming. Returns (outcome, row): sent | fenced | evidence | key_expired | taken | approval.
drop function if exists pawl.rearm_action(uuid, integer, integer, text, uuid, text, integer, integer, integer);
create or replace function pawl.rearm_action(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_token uuid, p_tool_version text, p_margin_ms integer, p_timeout_ms integer, p_settle_ms integer, p_turn integer)
returns table (outcome text, action json, timeline text) language plpgsql as $$
declare
  it pawl.items;
  a pawl.actions;
  p pawl.approvals;
  round integer;
begin
  timeline := pawl.history_now();
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  select * into a from pawl.actions x where x.run_id = p_run and x.key = p_key for update;
  if not found then outcome := 'taken'; return next; return; end if;
  action := row_to_json(a.*);
  if a.token = p_token then outcome := 'sent'; return next; return; end if;
  if a.applied_evidence is not null then outcome := 'evidence'; return next; return; end if;
  if a.item_seq <> p_seq and it.kind not in ('compensate', 'settle') and not (it.kind = 'finalize' and a.staged_by is not null)
     and not (a.status in ('failed', 'discarded') and pawl.owner_let_go(p_run, a.item_seq)) then
    outcome := 'taken'; return next; return;
  end if;
  if it.kind in ('compensate', 'settle') and a.item_seq <> p_seq and a.undoes is null and a.status <> 'started' then outcome := 'taken'; return next; return; end if;
  if a.status not in ('failed', 'started', 'awaiting_approval', 'discarded') and not (a.status = 'staged' and it.kind = 'finalize') then outcome := 'taken'; return next; return; end if;
  if a.effect = 'idempotent' and a.sends > a.refused and a.key_expires_at is not null
     and a.key_expires_at <= clock_timestamp() + make_interval(secs => p_margin_ms / 1000.0) then
    outcome := 'key_expired'; return next; return;
  end if;
  if a.approval_id is not null or a.status = 'awaiting_approval' then
    select r.ending into round from pawl.runs r where r.id = p_run;
    select * into p from pawl.approvals x where x.run_id = p_run and x.id = a.approval_id for update;
    if not found or p.status <> 'approved' or p.action_id <> a.id or p.tool <> a.tool or p.tool_version <> p_tool_version or p.args_digest <> a.args_digest
       or p.expires_at <= clock_timestamp() or a.status in ('discarded', 'staged') or (a.status = 'awaiting_approval') <> (p.consumed_at is null)
       or (a.status = 'failed' and p.consumed_ending <> round) then
      outcome := 'approval'; return next; return;
    end if;
    update pawl.approvals x set consumed_at = clock_timestamp(), consumed_ending = round where x.run_id = p_run and x.id = p.id and x.consumed_at is null;
  end if;
  update pawl.actions x set status = 'started', attempt = x.attempt + 1, sends = x.sends + 1, token = p_token, epoch = p_epoch,
    item_seq = case when it.kind in ('compensate', 'settle') and x.undoes is null then x.item_seq else p_seq end,
    turn = coalesce(p_turn, case when it.kind in ('compensate', 'settle') or x.item_seq = p_seq or x.staged_by is not null then x.turn end),
    order_no = nextval('pawl.order_no'), started_at = clock_timestamp(), error = null, tool_version = p_tool_version,
    timeout_ms = greatest(x.timeout_ms, p_timeout_ms), settle_ms = greatest(x.settle_ms, p_settle_ms), answerable_at = null, settled_by = null,
    key_expires_at = coalesce(x.key_expires_at, case when x.sends = 0 and x.key_window_ms is not null then clock_timestamp() + make_interval(secs => x.key_window_ms / 1000.0) end)
    where x.run_id = p_run and x.id = a.id returning * into a;
  outcome := 'sent'; action := row_to_json(a.*);
  return next;
end $$;
