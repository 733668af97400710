-- bring_back_actions: after a loss, a process writes down again what it remembers of calls the ledger had acknowledged: as unsettled, so that they are
-- found out about and never sent as if they were new. A remembered result comes back as evidence.
-- Locks: item, then action, in the order given. Returns for each: kept (the ledger has it, or pruned its run) | restored | ended | missing (no such item).
create or replace function pawl.bring_back_actions(p_rows json) returns table (run_id uuid, key text, outcome text) language plpgsql as $$
declare
  w record;
  it pawl.items;
  a pawl.actions;
begin
  for w in select * from json_to_recordset(p_rows) as x(run_id uuid, item_seq integer, key text, tool text, tool_version text, effect text, status text, attempt integer,
      epoch integer, token uuid, sends integer, refused integer, args text, args_digest text, result text, undo text, undoes bigint, timeout_ms integer, settle_ms integer,
      key_left_ms double precision, ago_ms double precision) loop
    run_id := w.run_id; key := w.key;
    select * into it from pawl.items i where i.run_id = w.run_id and i.seq = w.item_seq for update;
    if not found then
      -- A run that was pruned has ended with everything settled: nothing of it is lost.
      outcome := case when exists (select 1 from pawl.events e where e.run_id = w.run_id and e.kind = 'run.pruned') then 'kept' else 'missing' end;
      return next; continue;
    end if;
    select * into a from pawl.actions x where x.run_id = w.run_id and x.key = w.key for update;
    if found and a.sends >= w.sends and (w.result is null or a.status not in ('started', 'in_doubt', 'failed') or a.applied_evidence is not null) then
      outcome := 'kept'; return next; continue;
    end if;
    if it.status not in ('pending', 'in_progress', 'blocked') then outcome := 'ended'; return next; continue; end if;
    if a.run_id is null then
      insert into pawl.actions as n (run_id, item_seq, key, tool, tool_version, effect, status, attempt, epoch, token, sends, refused, args, args_digest, applied_evidence, undo, undoes,
          timeout_ms, settle_ms, key_expires_at, started_at)
        values (w.run_id, w.item_seq, w.key, w.tool, w.tool_version, w.effect, 'started', w.sends, least(w.epoch, it.epoch), w.token, w.sends, least(w.refused, w.sends - 1), w.args, w.args_digest, w.result, w.undo,
          case when w.undoes is not null then (select o.id from pawl.actions o where o.run_id = w.run_id and o.key = substr(w.key, 6)) end, w.timeout_ms, w.settle_ms,
          clock_timestamp() + make_interval(secs => w.key_left_ms / 1000), clock_timestamp() - make_interval(secs => w.ago_ms / 1000))
        returning * into a;
    else
      update pawl.actions x set status = case when x.status in ('failed', 'awaiting_approval', 'staged', 'rejected', 'discarded') then 'started' else x.status end, sends = greatest(x.sends, w.sends), attempt = greatest(x.attempt, w.sends),
        refused = least(x.refused, greatest(x.sends, w.sends) - 1), applied_evidence = coalesce(x.applied_evidence, w.result), undo = coalesce(x.undo, w.undo),
        token = case when w.sends > x.sends then w.token else x.token end, settled_by = case when x.status in ('failed', 'rejected', 'discarded') then null else x.settled_by end,
        error = case when x.status in ('failed', 'rejected') then null else x.error end
        where x.run_id = w.run_id and x.id = a.id;
    end if;
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run_id, w.item_seq, 'action.brought_back', 'pawl',
      jsonb_build_object('action', a.id, 'tool', w.tool, 'key', w.key, 'hasResult', w.result is not null));
    outcome := 'restored'; return next;
  end loop;
end $$;
