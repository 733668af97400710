-- reason_holds: does what an item waits for still stand? Called with the item's row locked.
-- in_doubt: an action of the item (for a settler: of the run) is still in doubt. key: the owner of the key has not settled it.
-- approval, question: everything it was parked for, of either kind, is still unanswered, and in time: one answer is enough to go on with, and a request that
-- ran out is asked anew. Its detail names them: {"approvals": [id, …], "questions": [id, …]}, where it asked one question alone {"question": id}. budget: no limit of the run's policy leaves more room than what was used up; {"scope": run | item, "what", "limit", "used"}. version: no live process can serve the item.
-- Every other reason is lifted by a person only.
create or replace function pawl.reason_holds(p_run uuid, p_seq integer, p_reason text, p_detail text) returns boolean
language plpgsql as $$
declare
  owner record;
  waits bigint[];
  asks bigint[];
  run_now pawl.runs;
  item_now pawl.items;
begin
  if p_reason = 'in_doubt' then
    return exists (select 1 from pawl.actions a where a.run_id = p_run and a.status = 'in_doubt'
      and (a.item_seq = p_seq or exists (select 1 from pawl.items i where i.run_id = p_run and i.seq = p_seq and i.kind in ('compensate', 'settle'))));
  elsif p_reason in ('approval', 'question') then
    waits := array(select x::bigint from json_array_elements_text(p_detail::json -> 'approvals') x);
    asks := array(select x::bigint from json_array_elements_text(p_detail::json -> 'questions') x union select (p_detail::json ->> 'question')::bigint where p_detail::json ->> 'question' is not null);
    return cardinality(waits) + cardinality(asks) > 0
      and cardinality(waits) = (select count(*) from pawl.approvals p where p.run_id = p_run and p.id = any (waits) and p.status = 'open' and p.expires_at > clock_timestamp())
      and cardinality(asks) = (select count(*) from pawl.questions q where q.run_id = p_run and q.id = any (asks) and q.status = 'open');
  elsif p_reason = 'key' then
    -- An item settles what it sent itself before it waits for another: two that wait for each other's unsettled key would sleep for ever.
    if exists (select 1 from pawl.actions a where a.run_id = p_run and a.item_seq = p_seq and a.status = 'started') then return false; end if;
    select a.status, i.status as item_status, i.blocked_reason into owner from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq
      where a.run_id = p_run and a.key = (p_detail::json ->> 'key');
    if not found then return false; end if;
    if owner.status in ('started', 'in_doubt', 'awaiting_approval') then return true; end if;
    -- One that itself waits for a key may wait for ours: it is not waited for, and its refused call is taken over.
    return owner.status in ('failed', 'discarded', 'staged') and (owner.item_status in ('pending', 'in_progress') or (owner.item_status = 'blocked' and owner.blocked_reason <> 'key'));
  elsif p_reason = 'budget' then
    return coalesce(coalesce((select (r.policy -> case when p_detail::json ->> 'scope' = 'run' then 'budget' else 'itemBudget' end ->> (p_detail::json ->> 'what'))::numeric
      from pawl.runs r where r.id = p_run), (p_detail::json ->> 'limit')::numeric) <= (p_detail::json ->> 'used')::numeric, true);
  elsif p_reason = 'version' then
    select * into run_now from pawl.runs x where x.id = p_run;
    select * into item_now from pawl.items i where i.run_id = p_run and i.seq = p_seq;
    return not pawl.is_served(run_now, item_now);
  end if;
  return true;
end $$;
