-- ask_question: the holder of an item asks a person. Fenced like an intent. Under one key an item asks one thing: asked again in the same words and for
-- the same kind of answer it is the same question, with its answer if there is one; in other words nothing changes (conflict).
-- What a cancelled or compensated run left unanswered is opened again, at its old place in the journal.
-- Locks: item, then question. Writes: the question, one event when it is new or open again. Returns (outcome, question): open | answered | conflict | fenced.
create or replace function pawl.ask_question(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_question text, p_schema text)
returns table (outcome text, question json) language plpgsql as $$
declare
  q pawl.questions;
  is_asked boolean := false;
begin
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.epoch = p_epoch and i.status = 'in_progress' for update;
  if not found then outcome := 'fenced'; return next; return; end if;
  select * into q from pawl.questions x where x.run_id = p_run and x.item_seq = p_seq and x.key = p_key for update;
  if not found then
    insert into pawl.questions (run_id, item_seq, key, question, answer_schema) values (p_run, p_seq, p_key, p_question, p_schema) returning * into q;
    is_asked := true;
  elsif q.question <> p_question or q.answer_schema <> p_schema then
    outcome := 'conflict'; question := row_to_json(q.*); return next; return;
  elsif q.status = 'void' then
    update pawl.questions x set status = 'open', asked_at = clock_timestamp() where x.run_id = p_run and x.id = q.id returning * into q;
    is_asked := true;
  end if;
  if is_asked then
    insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, p_seq, 'question.asked', 'pawl', jsonb_build_object('question', q.id));
  end if;
  outcome := q.status; question := row_to_json(q.*);
  return next;
end $$;
