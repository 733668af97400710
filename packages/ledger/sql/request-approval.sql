-- request_approval: the item's holder asks for a person's yes to one exact call, at once, whatever else of the item is in flight. Nothing is sent.
-- An answer that is there already is told; a request that ran out, or was made for another version of the tool, is replaced by a new one.
-- Locks: item (the fence), action, approval. Writes: the action (awaiting_approval), a new approval, an event.
-- p_digest: of tool, version and arguments, as people are shown it. Returns (outcome, action, approval):
-- waiting | given (a yes that is not used yet) | exists (the row says what became of the key) | fenced.
create or replace function pawl.request_approval(p_run uuid, p_seq integer, p_epoch integer, p_call json, p_digest text, p_irreversible boolean, p_expires_ms double precision)
returns table (outcome text, action json, approval json) language plpgsql as $$
declare
  it pawl.items;
  a pawl.actions;
  p pawl.approvals;
begin
  select * into it from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  a := pawl.keep_call(it, p_call, 'awaiting_approval');
  if a.id is null then
    outcome := 'exists'; action := (select row_to_json(x.*) from pawl.actions x where x.run_id = p_run and x.key = p_call ->> 'key');
    return next; return;
  end if;
  select * into p from pawl.approvals x where x.run_id = p_run and x.id = a.approval_id for update;
  if found and p.consumed_at is null and p.status in ('open', 'approved') then
    if p.digest <> p_digest or p.item_seq <> p_seq then
      update pawl.approvals x set status = 'void' where x.run_id = p_run and x.id = p.id;
    elsif p.expires_at <= clock_timestamp() then
      update pawl.approvals x set status = 'expired' where x.run_id = p_run and x.id = p.id;
    else
      outcome := case p.status when 'open' then 'waiting' else 'given' end; action := row_to_json(a.*); approval := row_to_json(p.*);
      return next; return;
    end if;
  end if;
  insert into pawl.approvals as n (run_id, action_id, item_seq, tool, tool_version, args_digest, digest, irreversible, expires_at)
    values (p_run, a.id, p_seq, a.tool, a.tool_version, a.args_digest, p_digest, p_irreversible, clock_timestamp() + make_interval(secs => p_expires_ms / 1000)) returning * into p;
  update pawl.actions x set approval_id = p.id where x.run_id = p_run and x.id = a.id returning * into a;
  insert into pawl.events (run_id, item_seq, kind, actor, data)
    values (p_run, p_seq, 'approval.requested', 'pawl', jsonb_build_object('action', a.id, 'approval', p.id, 'tool', a.tool, 'digest', p_digest, 'expiresAt', p.expires_at));
  outcome := 'waiting'; action := row_to_json(a.*); approval := row_to_json(p.*);
  return next;
end $$;
