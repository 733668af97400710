-- expire_approvals: requests nobody answered in time → expired; the call is asked for anew when its item runs next, and wake_items sees to that.
-- Locks: approvals, skipping what is being decided. Returns how many.
create or replace function pawl.expire_approvals() returns integer language plpgsql as $$
declare n integer;
begin
  with e as (
    update pawl.approvals p set status = 'expired'
      from (select x.run_id, x.id from pawl.approvals x where x.status = 'open' and x.expires_at <= clock_timestamp() order by x.run_id, x.id for update skip locked) l
      where p.run_id = l.run_id and p.id = l.id returning p.run_id, p.item_seq, p.id, p.action_id, p.tool),
  v as (insert into pawl.events (run_id, item_seq, kind, actor, data)
    select e.run_id, e.item_seq, 'approval.expired', 'pawl', jsonb_build_object('action', e.action_id, 'approval', e.id, 'tool', e.tool) from e returning 1)
  select count(*) into n from v;
  return n;
end $$;
