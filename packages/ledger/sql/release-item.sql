-- release_item: a person's verb for one blocked item whose reason is not answered elsewhere: `resume` (crash budget fresh; new calls allowed where
-- it diverged and the person says so) or `fail`. Locks: item. Returns (outcome, status, reason): released | wrong_state | missing.
create or replace function pawl.release_item(p_run uuid, p_seq integer, p_verb text, p_new_calls boolean, p_actor text, p_note text)
returns table (outcome text, status text, reason text) language plpgsql as $$
declare it pawl.items;
begin
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq for update;
  if not found then outcome := 'missing'; return next; return; end if;
  status := it.status; reason := it.blocked_reason;
  if it.status <> 'blocked' or it.blocked_reason in ('in_doubt', 'approval', 'question') or (p_verb = 'fail' and it.kind in ('compensate', 'settle'))
    or (p_verb = 'fail' and exists (select 1 from pawl.actions a where a.run_id = p_run and a.item_seq = p_seq and a.status in ('started', 'in_doubt')))
  then outcome := 'wrong_state'; return next; return; end if;
  if p_verb = 'fail' then
    update pawl.items i set status = 'failed', blocked_reason = null, blocked_detail = null, finished_at = clock_timestamp(),
      error = json_build_object('name', 'FailedByPerson', 'message', coalesce(p_note, 'A person ended this item.'))::text where i.run_id = p_run and i.seq = p_seq;
    status := 'failed';
  else
    update pawl.items i set status = 'pending', blocked_reason = null, blocked_detail = null, barren_attempts = 0, dispatched_at = null,
      available_at = clock_timestamp(), allow_new_calls = p_new_calls where i.run_id = p_run and i.seq = p_seq;
    status := 'pending';
  end if;
  insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, p_seq, 'item.released', p_actor,
    jsonb_build_object('verb', p_verb, 'reason', it.blocked_reason, 'note', p_note, 'newCalls', p_new_calls));
  outcome := 'released';
  return next;
end $$;
