-- settle_action: a worker (the item's holder, or a compensate/settle item for any action of the run) records what became of an unsettled action.
-- Locks: settler's item (its fence), then action. Verdicts: applied → committed; not_applied → failed with every send proved refused
-- (sent again when asked for); in_doubt → a person decides, from answerable_at on. An earlier holder's proof beats not_applied, in_doubt
-- and even a `failed` that was recorded before the proof came.
-- Returns the row after it; no row = fenced, or not the settler's to settle; a row that was settled already is returned as it is.
create or replace function pawl.settle_action(
  p_run uuid, p_seq integer, p_epoch integer, p_key text, p_verdict text, p_result text, p_undo text, p_by text, p_wait_ms integer
) returns setof pawl.actions language plpgsql as $$
declare
  a pawl.actions;
  settler text;
  happened boolean;
begin
  select i.kind into settler from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then return; end if;
  select * into a from pawl.actions x where x.run_id = p_run and x.key = p_key for update;
  if not found then return; end if;
  if not (a.status = 'failed' and a.applied_evidence is not null) then
    if a.item_seq <> p_seq and settler not in ('compensate', 'settle') then return; end if;
    if a.status <> 'started' and not (a.status = 'in_doubt' and p_verdict <> 'in_doubt') then return next a; return; end if;
  end if;
  happened := p_verdict = 'applied' or a.applied_evidence is not null;
  if happened then
    update pawl.actions x set status = 'committed', result = coalesce(x.applied_evidence, p_result), undo = coalesce(p_undo, x.undo),
      settled_by = case when p_verdict = 'applied' then p_by else 'evidence' end, committed_at = clock_timestamp(), error = null, answerable_at = null
      where x.run_id = p_run and x.id = a.id returning * into a;
    if a.undoes is not null then
      update pawl.actions o set status = 'compensated' where o.run_id = p_run and o.id = a.undoes and o.status = 'committed';
    end if;
  elsif p_verdict = 'not_applied' then
    update pawl.actions x set status = 'failed', refused = x.sends, settled_by = p_by, answerable_at = null,
      error = '{"name":"NotSent","message":"found not applied","code":"unsent"}'
      where x.run_id = p_run and x.id = a.id returning * into a;
  else
    update pawl.actions x set status = 'in_doubt', answerable_at = clock_timestamp() + make_interval(secs => p_wait_ms / 1000.0)
      where x.run_id = p_run and x.id = a.id returning * into a;
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, a.item_seq, 'action.in_doubt', 'pawl', jsonb_build_object('action', a.id, 'tool', a.tool));
  end if;
  if a.status <> 'in_doubt' then
    insert into pawl.events (run_id, item_seq, kind, actor, data)
      values (p_run, a.item_seq, 'action.settled', 'pawl', jsonb_build_object('action', a.id, 'tool', a.tool, 'status', a.status, 'by', a.settled_by));
  end if;
  -- Found not applied, a call is sent again: no progress, or one that ends its process each time would never be noticed.
  if happened then update pawl.items i set barren_attempts = 0 where i.run_id = p_run and i.seq = p_seq; end if;
  return next a;
end $$;
