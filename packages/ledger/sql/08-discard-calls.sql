-- discard_calls: calls that are kept and are no longer to be made → discarded, and nobody is asked about them any more: of an item (p_seq), of
-- these keys (p_keys), or of the whole run. Called with the items locked, or the run's. A consumed approval stays as it is: it was used.
-- What a finalizer that failed was to send for items that are done is held back again (staged), for the next one; it asks anew.
create or replace function pawl.discard_calls(p_run uuid, p_seq integer, p_keys text[], p_why text) returns void language plpgsql as $$
begin
  with d as (
    update pawl.actions a set status = case when l.is_back then 'staged' else 'discarded' end, settled_by = case when l.is_back then null else p_why end
      from (select x.id, coalesce(x.staged_by <> p_seq, false) and pawl.is_held_back(x) as is_back from pawl.actions x where x.run_id = p_run and x.status in ('awaiting_approval', 'staged') and (p_seq is null or x.item_seq = p_seq)
        and (p_keys is null or x.key = any (p_keys)) order by x.key for update) l
      where a.run_id = p_run and a.id = l.id returning a.id)
  update pawl.approvals p set status = 'void' from d where p.run_id = p_run and p.action_id = d.id and (p.status = 'open' or (p.status = 'approved' and p.consumed_at is null));
end $$;
