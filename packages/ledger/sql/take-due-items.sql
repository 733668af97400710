-- take_due_items: due items of one run, up to its window, to be rung for; each with a new generation, so no kept job can swallow it.
-- Under the run's advisory lock; "out" (pending with a job, or in progress) is counted by a later statement than the lock.
-- Items blocked because nobody serves the run's version count as out: those behind them would only follow, and the window keeps them few.
-- Due is what was never delayed (available_at = created_at), whatever the clock says: a primary whose clock stepped back must not hold its runs.
-- None while the ledger's history is not known to be whole. Also says whether anything of the run is still live, so that whoever finds nothing advances the run; items that wait for their run's seal are not.
create or replace function pawl.take_due_items(p_run uuid, p_window integer, out taken json, out live boolean, out more boolean) language plpgsql as $$
declare
  r record;
  out_now integer;
  room integer;
  n integer;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_run::text, 7));
  select x.paused, x.status, x.agent, x.agent_version, x.policy, x.trace_parent into r from pawl.runs x where x.id = p_run;
  taken := '[]'; live := false; more := false;
  if not found then return; end if;
  live := exists (select 1 from pawl.items i where i.run_id = p_run and i.status in ('pending', 'in_progress', 'blocked') and (i.kind <> 'work' or r.status <> 'splitting'));
  if r.paused or not live or not (select pawl.history_is_known(l) from pawl.ledger l) then return; end if;
  select count(*)::integer into out_now from pawl.items i
    where i.run_id = p_run and (i.status = 'in_progress' or (i.status = 'pending' and i.dispatched_at is not null)
      or (i.status = 'blocked' and i.blocked_reason = 'version' and not i.blocked_detail::jsonb ?| array['model', 'prompt', 'schema', 'tools']));
  room := least(p_window, coalesce((r.policy ->> 'maxConcurrency')::integer, p_window)) - out_now;
  if room <= 0 then more := true; return; end if;
  with due as (
    select i.seq from pawl.items i where i.run_id = p_run and i.status = 'pending' and i.dispatched_at is null and (i.available_at <= clock_timestamp() or i.available_at <= i.created_at)
      and (i.kind <> 'work' or r.status = 'running')
      order by (i.attempts > 0) desc, i.seq limit room for update skip locked),
  t as (update pawl.items i set dispatched_at = clock_timestamp(), generation = i.generation + 1 from due
    where i.run_id = p_run and i.seq = due.seq returning i.seq, i.generation, i.kind, i.key, i.attempts)
  select coalesce(json_agg(json_build_object('seq', t.seq, 'generation', t.generation, 'kind', t.kind, 'key', t.key, 'again', t.attempts > 0,
    'agent', r.agent, 'version', r.agent_version, 'trace', r.trace_parent) order by t.attempts > 0 desc, t.seq), '[]'), count(*) into taken, n from t;
  more := n >= room;
end $$;
