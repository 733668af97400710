-- release_item: a person's verb for one blocked item whose reason is not answered elsewhere: `resume` (crash budget fresh; new calls allowed where
-- it diverged and the person says so) or `fail`. A compensation fails only the undo it is blocked for: that undo is abandoned, its write stays as
-- residue, and the rest goes on. What was shown (p_attempts, p_reason) binds: every attempt raises the number, so an item that went on meanwhile and is
-- blocked anew, for whatever, is another matter. Null: not told. Locks: item, then action. Returns (outcome, status, reason): released | changed | wrong_state | missing.
drop function if exists pawl.release_item(uuid, integer, text, boolean, text, text);
create or replace function pawl.release_item(p_run uuid, p_seq integer, p_verb text, p_new_calls boolean, p_actor text, p_note text, p_attempts integer default null, p_reason text default null)
returns table (outcome text, status text, reason text) language plpgsql as $$
declare
  it pawl.items;
  given_up bigint;
begin
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := it.status; reason := it.blocked_reason;
  if it.attempts <> p_attempts or it.blocked_reason is distinct from coalesce(p_reason, it.blocked_reason) then outcome := 'changed'; return next; return; end if;
  if it.status <> 'blocked' or it.blocked_reason in ('in_doubt', 'approval', 'question') or (p_verb = 'fail' and (it.kind = 'settle' or (it.kind = 'compensate' and it.blocked_reason <> 'undo')))
    or (p_verb = 'fail' and exists (select 1 from pawl.actions a where a.run_id = p_run and a.item_seq = p_seq and a.status in ('started', 'in_doubt')))
  then outcome := 'wrong_state'; return next; return; end if;
  if p_verb = 'fail' and it.kind = 'compensate' then
    insert into pawl.actions as u (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, undoes, timeout_ms, settle_ms, settled_by)
      select p_run, p_seq, 'undo:' || w.key, coalesce(it.blocked_detail::json ->> 'tool', w.tool), w.tool_version, 'non-idempotent', 'abandoned', it.epoch, 'null', '', w.id, 0, 0, 'person:' || p_actor
      from pawl.actions w where w.run_id = p_run and w.id = (it.blocked_detail::json ->> 'action')::bigint and w.status = 'committed'
      on conflict (run_id, key) do update set status = 'abandoned', settled_by = excluded.settled_by where u.status in ('failed', 'rejected') and u.applied_evidence is null
      returning u.id into given_up;
    if given_up is null then outcome := 'wrong_state'; return next; return; end if;
    insert into pawl.events (run_id, item_seq, kind, actor, data)
      values (p_run, p_seq, 'action.answered', p_actor, jsonb_build_object('action', given_up, 'answer', 'abandon', 'note', p_note));
  end if;
  if p_verb = 'fail' and it.kind <> 'compensate' then
    perform pawl.discard_calls(p_run, p_seq, null, 'item');
    update pawl.items i set status = 'failed', blocked_reason = null, blocked_detail = null, finished_at = clock_timestamp(),
      error = json_build_object('name', 'FailedByPerson', 'message', coalesce(p_note, 'A person ended this item.'))::text where i.run_id = p_run and i.seq = p_seq;
    status := 'failed';
  else
    update pawl.items i set status = 'pending', blocked_reason = null, blocked_detail = null, barren_attempts = 0, dispatched_at = null,
      available_at = i.created_at, allow_new_calls = p_new_calls where i.run_id = p_run and i.seq = p_seq;
    status := 'pending';
  end if;
  insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, p_seq, 'item.released', p_actor,
    jsonb_build_object('verb', p_verb, 'reason', it.blocked_reason, 'note', p_note, 'newCalls', p_new_calls));
  outcome := 'released';
  return next;
end $$;
