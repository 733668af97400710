-- answer_question: a person's answer, once. The first one stands; whoever comes later gets the row with who was first and when. The same answer by the
-- same person again (a lost acknowledgement) is that answer. The caller has checked it against `answer_schema`, which never changes.
-- Kept whether the item waits for it already or is still parking (block_item looks again with the item locked).
-- Locks: item, then question. Returns (outcome, question): answered | taken | closed (void, or its item has ended) | missing.
create or replace function pawl.answer_question(p_run uuid, p_question bigint, p_answer text, p_actor text, p_note text) returns table (outcome text, question json)
language plpgsql as $$
declare
  q pawl.questions;
  item_status text;
begin
  select * into q from pawl.questions x where x.run_id = p_run and x.id = p_question;
  if not found then outcome := 'missing'; return next; return; end if;
  select i.status into item_status from pawl.items i where i.run_id = p_run and i.seq = q.item_seq for update;
  select * into q from pawl.questions x where x.run_id = p_run and x.id = p_question for update;
  if q.status = 'answered' then
    outcome := case when q.answered_by = p_actor and q.answer = p_answer then 'answered' else 'taken' end;
  elsif q.status <> 'open' or item_status not in ('pending', 'in_progress', 'blocked') then
    outcome := 'closed';
  else
    update pawl.questions x set status = 'answered', answer = p_answer, answered_by = p_actor, answered_at = clock_timestamp()
      where x.run_id = p_run and x.id = p_question returning * into q;
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, q.item_seq, 'question.answered', p_actor, jsonb_build_object('question', q.id, 'note', p_note));
    outcome := 'answered';
  end if;
  question := row_to_json(q.*);
  return next;
end $$;
