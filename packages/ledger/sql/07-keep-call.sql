-- is_held_back: will the end of the run send this call, or find out whether it was sent, for an item that is done? Then nobody else need hold it back, nor may take it over.
create or replace function pawl.is_held_back(a pawl.actions) returns boolean language sql volatile as $$
  select a.status in ('staged', 'failed', 'awaiting_approval', 'started', 'in_doubt') and exists (select 1 from pawl.items i where i.run_id = a.run_id and i.seq = a.staged_by and i.status = 'done')
$$;

-- keep_call: writes down a call that is not to be sent yet (`awaiting_approval` or `staged`), under the lock of its item: no send, no token.
-- A row that is there is taken up again when nothing of it can have happened: every send proved not applied, or never one. Anything else is
-- left alone. What another item held back and came to nothing itself is held back by this one from now on. Locks and writes: the action. Returns the row, or null where it was left alone.
create or replace function pawl.keep_call(it pawl.items, p_call json, p_status text) returns pawl.actions language plpgsql as $$
declare
  c record;
  a pawl.actions;
begin
  select * into c from json_to_record(p_call) as x(key text, tool text, tool_version text, effect text, args text, args_digest text, undo text, undoes bigint, turn integer,
    timeout_ms integer, settle_ms integer, key_window_ms bigint);
  insert into pawl.actions as n (run_id, item_seq, turn, key, tool, tool_version, effect, status, attempt, epoch, sends, args, args_digest, undo, undoes, timeout_ms, settle_ms, key_window_ms, staged_by)
    values (it.run_id, it.seq, c.turn, c.key, c.tool, c.tool_version, c.effect, p_status, 0, it.epoch, 0, c.args, c.args_digest, c.undo, c.undoes, c.timeout_ms, c.settle_ms, c.key_window_ms,
      case when p_status = 'staged' then it.seq end)
    on conflict (run_id, key) do nothing returning * into a;
  if found then return a; end if;
  select * into a from pawl.actions x where x.run_id = it.run_id and x.key = c.key for update;
  if a.status = 'staged' and a.item_seq <> it.seq and it.kind <> 'finalize' then
    -- Its owner must not be claimed meanwhile: it would go on as the one that holds the call back. Never waits: items are locked in order.
    perform 1 from pawl.items o where o.run_id = it.run_id and o.seq = a.item_seq and (o.status in ('failed', 'cancelled') or (o.status = 'blocked' and o.blocked_reason = 'key')) for update skip locked;
    if not found then return null; end if;
  end if;
  if not (a.args_digest = c.args_digest and a.tool = c.tool and a.applied_evidence is null and a.status in ('failed', 'discarded', 'awaiting_approval', 'staged')
    and (a.item_seq = it.seq or (it.kind = 'finalize' and a.staged_by is not null)
      or (a.status in ('failed', 'discarded', 'staged') and not pawl.is_held_back(a) and pawl.owner_let_go(it.run_id, a.item_seq)))) then return null; end if;
  update pawl.actions x set status = p_status, item_seq = it.seq, turn = c.turn, epoch = it.epoch, token = null, error = null, settled_by = null, tool_version = c.tool_version,
    undo = c.undo, timeout_ms = greatest(x.timeout_ms, c.timeout_ms), settle_ms = greatest(x.settle_ms, c.settle_ms), key_window_ms = c.key_window_ms,
    staged_by = case when p_status = 'staged' then it.seq when it.kind = 'finalize' or a.item_seq = it.seq then x.staged_by end
    where x.run_id = it.run_id and x.id = a.id returning * into a;
  return a;
end $$;
