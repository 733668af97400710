-- wake_items: blocked items whose reason no longer holds go back to pending; waking is level-triggered, verbs that answer only ring early.
-- An item whose doubt was abandoned fails, once nothing else of it is unsettled: an ended item has nobody to settle it. Locks: items in order. Returns the runs that have something due now.
create or replace function pawl.wake_items(p_run uuid) returns setof uuid language plpgsql as $$
declare it record;
begin
  for it in select i.run_id, i.seq, i.blocked_reason, i.blocked_detail, i.kind from pawl.items i
            where i.status = 'blocked' and (p_run is null or i.run_id = p_run) and (i.blocked_reason in ('in_doubt', 'key', 'approval', 'question', 'budget')
              -- A backlog of a version nobody has is not asked about item by item.
              or (i.blocked_reason = 'version' and exists (select 1 from pawl.runs r join pawl.workers w on w.builds ? (r.agent || '@' || r.agent_version) where r.id = i.run_id)))
            order by i.run_id, i.seq for update skip locked loop
    continue when pawl.reason_holds(it.run_id, it.seq, it.blocked_reason, it.blocked_detail);
    if it.kind = 'work' and it.blocked_reason = 'in_doubt'
       and exists (select 1 from pawl.actions a where a.run_id = it.run_id and a.item_seq = it.seq and a.status = 'abandoned')
       and not exists (select 1 from pawl.actions a where a.run_id = it.run_id and a.item_seq = it.seq and a.status = 'started') then
      update pawl.items i set status = 'failed', blocked_reason = null, blocked_detail = null, finished_at = clock_timestamp(),
        error = json_build_object('name', 'Abandoned', 'message', 'A person gave up finding out whether a call of this item happened.')::text
        where i.run_id = it.run_id and i.seq = it.seq;
      perform pawl.discard_calls(it.run_id, it.seq, null, 'item');
      insert into pawl.events (run_id, item_seq, kind, actor) values (it.run_id, it.seq, 'item.failed', 'pawl');
    else
      update pawl.items i set status = 'pending', blocked_reason = null, blocked_detail = null, dispatched_at = null, available_at = i.created_at
        where i.run_id = it.run_id and i.seq = it.seq;
      insert into pawl.events (run_id, item_seq, kind, actor) values (it.run_id, it.seq, 'item.woken', 'pawl');
    end if;
    return next it.run_id;
  end loop;
end $$;
