-- settle_action_json: settle_action with its row as JSON, the one form in which rows reach the program.
create or replace function pawl.settle_action_json(
  p_run uuid, p_seq integer, p_epoch integer, p_key text, p_verdict text, p_result text, p_undo text, p_by text, p_wait_ms integer
) returns table (action json) language sql volatile as $$
  select row_to_json(a.*) from pawl.settle_action(p_run, p_seq, p_epoch, p_key, p_verdict, p_result, p_undo, p_by, p_wait_ms) a
$$;
