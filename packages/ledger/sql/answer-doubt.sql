-- answer_doubt: a person says what became of an action in doubt: happened | did_not | abandon.
-- The answer names the attempt and the number of evidence entries it was shown; anything newer refuses it.
-- Locks: item, then action. Returns (outcome, row): answered | missing | changed | too_early | evidence.
create or replace function pawl.answer_doubt(
  p_run uuid, p_action bigint, p_attempt integer, p_evidence integer, p_answer text, p_result text, p_undo text, p_actor text, p_note text
) returns table (outcome text, action json) language plpgsql as $$
declare a pawl.actions;
begin
  select * into a from pawl.actions x where x.run_id = p_run and x.id = p_action;
  if not found then outcome := 'missing'; return next; return; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = a.item_seq for update;
  select * into a from pawl.actions x where x.run_id = p_run and x.id = p_action for update;
  action := row_to_json(a.*);
  if a.status <> 'in_doubt' or a.attempt <> p_attempt or cardinality(a.evidence) <> p_evidence then outcome := 'changed'; return next; return; end if;
  if p_answer <> 'happened' and a.applied_evidence is not null then outcome := 'evidence'; return next; return; end if;
  if p_answer <> 'happened' and a.answerable_at > clock_timestamp() then outcome := 'too_early'; return next; return; end if;
  update pawl.actions x set
    status = case p_answer when 'happened' then 'committed' when 'did_not' then 'failed' else 'abandoned' end,
    result = case when p_answer = 'happened' then coalesce(x.applied_evidence, p_result) else x.result end,
    undo = case when p_answer = 'happened' then coalesce(p_undo, x.undo) else x.undo end,
    committed_at = case when p_answer = 'happened' then clock_timestamp() end,
    refused = case when p_answer = 'did_not' then x.sends else x.refused end,
    error = case p_answer when 'did_not' then '{"name":"NotSent","message":"a person said it did not happen","code":"unsent"}' else x.error end,
    settled_by = 'person:' || p_actor, answerable_at = null
    where x.run_id = p_run and x.id = p_action returning * into a;
  if a.status = 'committed' and a.undoes is not null then
    update pawl.actions o set status = 'compensated' where o.run_id = p_run and o.id = a.undoes and o.status = 'committed';
  end if;
  insert into pawl.events (run_id, item_seq, kind, actor, data)
    values (p_run, a.item_seq, 'action.answered', p_actor, jsonb_build_object('action', a.id, 'answer', p_answer, 'note', p_note));
  outcome := 'answered'; action := row_to_json(a.*);
  return next;
end $$;
