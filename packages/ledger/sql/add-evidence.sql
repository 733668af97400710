-- add_evidence: append-only and unfenced: facts are not state, and a worker that lost the item may hold the true answer.
-- With p_result, the call is known to have been applied; an action in doubt is then settled by it, without a person, and one recorded
-- `failed` or `abandoned` keeps the proof, so that it is never sent again.
-- With a result the same words are kept once: it is written again when its answer is lost.
-- Locks: item, then action. Returns the action's status, or null when there is no such action.
create or replace function pawl.add_evidence(p_run uuid, p_key text, p_entry text, p_result text, p_undo text) returns text language plpgsql as $$
declare a pawl.actions;
begin
  select * into a from pawl.actions x where x.run_id = p_run and x.key = p_key;
  if not found then return null; end if;
  perform 1 from pawl.items i where i.run_id = p_run and i.seq = a.item_seq for update;
  update pawl.actions x set evidence = case when p_result is not null and p_entry = any (x.evidence) then x.evidence else x.evidence || p_entry end,
    applied_evidence = case when x.status in ('started', 'in_doubt', 'failed', 'abandoned') then coalesce(x.applied_evidence, p_result) else x.applied_evidence end
    where x.run_id = p_run and x.id = a.id returning * into a;
  if a.status = 'in_doubt' and a.applied_evidence is not null then
    update pawl.actions x set status = 'committed', result = x.applied_evidence, undo = coalesce(p_undo, x.undo), settled_by = 'evidence',
      committed_at = clock_timestamp(), answerable_at = null where x.run_id = p_run and x.id = a.id returning * into a;
    if a.undoes is not null then
      update pawl.actions o set status = 'compensated' where o.run_id = p_run and o.id = a.undoes and o.status = 'committed';
    end if;
  end if;
  return a.status;
end $$;
