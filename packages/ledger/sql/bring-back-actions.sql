-- settler_of: which item finds out what became of a call that is brought back: the first live one of these; of a call that was held back for an item
-- that is done, else the run's finalizer, and while there is none yet that item itself, from which advance_run hands it over. Null: nobody would.
create or replace function pawl.settler_of(p_run uuid, p_seqs integer[], p_staged_by integer) returns integer language sql volatile as $$
  select i.seq from pawl.items i join pawl.runs r on r.id = i.run_id
  where i.run_id = p_run and ((i.seq = any (p_seqs) and i.status in ('pending', 'in_progress', 'blocked'))
    or (exists (select 1 from pawl.items h where h.run_id = p_run and h.seq = p_staged_by and h.status = 'done')
      and ((i.kind = 'finalize' and i.status in ('pending', 'in_progress', 'blocked')) or (i.seq = p_staged_by and r.status in ('splitting', 'running')))))
  order by i.status = 'done', array_position(p_seqs, i.seq), i.seq limit 1
$$;

-- bring_back_actions: after a loss, a process writes down again what it remembers of calls the ledger had acknowledged: as unsettled, so that they are
-- found out about and never sent as if they were new. A remembered result comes back as evidence.
-- The call is the item's that made the send: a finalizer's, or that of an item which took the key over, whoever has the older row. Where that item is gone
-- or has ended, settler_of says who else settles it; where nobody would, a person is told.
-- A send under the number of another one that has no result (the call was lost, and made anew) is one more that nobody knows about. It is counted once: the event names its token.
-- In a ledger that was cleared since, the item's holder goes by a journal that lacks the send, and would send again: its attempt is over.
-- Locks: run (shared), items in order, then action, for each in the order given. Returns for each: kept (the ledger has it, or pruned its run) | restored | ended | missing (no such item)
-- | twice (another send's result stands in the ledger: it may have been made twice; for those that tell a send's order number only, an earlier build does not know the word).
create or replace function pawl.bring_back_actions(p_rows json) returns table (run_id uuid, key text, outcome text) language plpgsql as $$
declare
  w record;
  it pawl.items;
  a pawl.actions;
  owner integer;
  is_newer boolean;
  is_other boolean;
  is_known boolean := (select pawl.history_is_known(l) from pawl.ledger l);
begin
  for w in select * from json_to_recordset(p_rows) as x(run_id uuid, item_seq integer, key text, tool text, tool_version text, effect text, status text, attempt integer,
      epoch integer, token uuid, sends integer, refused integer, args text, args_digest text, result text, undo text, undoes bigint, timeout_ms integer, settle_ms integer,
      key_left_ms double precision, ago_ms double precision, staged_by integer, order_no bigint) loop
    run_id := w.run_id; key := w.key;
    -- Nobody makes its finalizer, or ends it, meanwhile.
    perform 1 from pawl.runs r where r.id = w.run_id for share;
    select * into a from pawl.actions x where x.run_id = w.run_id and x.key = w.key;
    perform 1 from pawl.items i where i.run_id = w.run_id
      and (i.seq in (w.item_seq, a.item_seq, a.staged_by, w.staged_by) or (i.kind = 'finalize' and i.status in ('pending', 'in_progress', 'blocked'))) order by i.seq for update;
    select * into a from pawl.actions x where x.run_id = w.run_id and x.key = w.key for update;
    is_newer := a.run_id is null or w.sends > a.sends;
    is_other := not is_newer and a.sends = w.sends and w.sends > 0 and a.token is distinct from w.token and (a.token is not null or a.order_no <> w.order_no)
      and not exists (select 1 from pawl.events e where e.run_id = w.run_id and e.kind = 'action.brought_back' and e.data ->> 'token' = w.token::text);
    if is_other and a.status not in ('started', 'in_doubt', 'failed', 'awaiting_approval', 'staged', 'rejected', 'discarded') then
      outcome := case when a.status = 'committed' and a.effect = 'non-idempotent' and w.order_no is not null then 'twice' else 'kept' end;
      return next; continue;
    end if;
    if not is_newer and not is_other and (w.result is null or a.status not in ('started', 'in_doubt', 'failed') or a.applied_evidence is not null) then
      outcome := 'kept'; return next; continue;
    end if;
    owner := pawl.settler_of(w.run_id, case when is_newer then array[w.item_seq, coalesce(a.staged_by, w.staged_by), a.item_seq] else array[a.item_seq, w.item_seq, a.staged_by] end,
      coalesce(a.staged_by, w.staged_by));
    if owner is null then
      -- A run that was pruned has ended with everything settled: nothing of it is lost.
      outcome := case when exists (select 1 from pawl.items i where i.run_id = w.run_id and i.seq = w.item_seq) then 'ended'
        when exists (select 1 from pawl.events e where e.run_id = w.run_id and e.kind = 'run.pruned') then 'kept' else 'missing' end;
      return next; continue;
    end if;
    select * into it from pawl.items i where i.run_id = w.run_id and i.seq = owner for update;
    if a.run_id is null then
      insert into pawl.actions as n (run_id, item_seq, key, tool, tool_version, effect, status, attempt, epoch, token, sends, refused, args, args_digest, applied_evidence, undo, undoes,
          staged_by, timeout_ms, settle_ms, key_expires_at, started_at)
        values (w.run_id, owner, w.key, w.tool, w.tool_version, w.effect, 'started', w.sends, least(w.epoch, it.epoch), w.token, w.sends, least(w.refused, w.sends - 1), w.args, w.args_digest, w.result, w.undo,
          case when w.undoes is not null then (select o.id from pawl.actions o where o.run_id = w.run_id and o.key = substr(w.key, 6)) end, w.staged_by, w.timeout_ms, w.settle_ms,
          clock_timestamp() + make_interval(secs => w.key_left_ms / 1000), clock_timestamp() - make_interval(secs => w.ago_ms / 1000))
        returning * into a;
    else
      update pawl.actions x set status = case when x.status in ('failed', 'awaiting_approval', 'staged', 'rejected', 'discarded') then 'started' else x.status end,
        sends = case when is_other then x.sends + 1 else greatest(x.sends, w.sends) end, attempt = case when is_other then x.attempt + 1 else greatest(x.attempt, w.sends) end,
        refused = case when is_other then x.refused else least(x.refused, greatest(x.sends, w.sends) - 1) end, applied_evidence = coalesce(x.applied_evidence, w.result), undo = coalesce(x.undo, w.undo),
        token = case when is_newer then w.token else x.token end, settled_by = case when x.status in ('failed', 'rejected', 'discarded') then null else x.settled_by end,
        error = case when x.status in ('failed', 'rejected') then null else x.error end,
        item_seq = owner, epoch = case when x.item_seq = owner then x.epoch else least(w.epoch, it.epoch) end,
        -- A turn is its item's.
        turn = case when x.item_seq = owner or x.staged_by is not null then x.turn end
        where x.run_id = w.run_id and x.id = a.id returning * into a;
      update pawl.approvals p set status = 'void' where p.run_id = w.run_id and p.action_id = a.id and p.status = 'open';
    end if;
    if is_known and it.status = 'in_progress' then
      update pawl.items i set status = 'pending', epoch = i.epoch + 1, worker_id = null, lease_until = null, dispatched_at = null, barren_attempts = 0, available_at = i.created_at
        where i.run_id = w.run_id and i.seq = owner;
    end if;
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (w.run_id, owner, 'action.brought_back', 'pawl',
      jsonb_build_object('action', a.id, 'tool', w.tool, 'key', w.key, 'hasResult', w.result is not null, 'token', w.token));
    outcome := 'restored'; return next;
  end loop;
end $$;
