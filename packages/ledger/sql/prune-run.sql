-- prune_hold: why an ended run has to stay, worst first; empty: nothing needs its rows any more. What p_give_up names (undo, resume, residue) is no reason.
-- open: it has not ended, or an item of it is live (one that settles a call after the end) · unsettled: nobody knows yet what became of a call, or it is kept for
-- a run that can still go on · person: an approval is open (a question of an item that has ended is nobody's) · key: a receiver still remembers a key of its · undo: it can still be compensated
-- resume: it can still go on · residue: it is the only record of what stands without an undo, or was given up.
create or replace function pawl.prune_hold(r pawl.runs, p_give_up text[]) returns text[] language plpgsql as $$
declare why text[] := '{}';
begin
  if r.status in ('splitting', 'running', 'finalizing', 'compensating') or r.finished_at is null
    or exists (select 1 from pawl.items i where i.run_id = r.id and i.status in ('pending', 'in_progress', 'blocked')) then why := why || 'open'::text; end if;
  if exists (select 1 from pawl.actions a where a.run_id = r.id and (a.status in ('started', 'in_doubt') or (a.status in ('awaiting_approval', 'staged') and not ('resume' = any (p_give_up) and r.status in ('failed', 'completed_with_failures', 'cancelled')))
      or (a.status = 'failed' and a.applied_evidence is not null))) then why := why || 'unsettled'::text; end if;
  if exists (select 1 from pawl.approvals p where p.run_id = r.id and p.status = 'open') then why := why || 'person'::text; end if;
  if exists (select 1 from pawl.actions a where a.run_id = r.id and a.key_expires_at > clock_timestamp()) then why := why || 'key'::text; end if;
  if not 'undo' = any (p_give_up) and exists (select 1 from pawl.actions a where a.run_id = r.id and a.status = 'committed' and a.undoes is null and a.effect <> 'read' and a.undo is not null
    and not exists (select 1 from pawl.actions u where u.run_id = a.run_id and u.undoes = a.id and u.status = 'abandoned')) then why := why || 'undo'::text; end if;
  if not 'resume' = any (p_give_up) and r.status in ('failed', 'completed_with_failures', 'cancelled') then why := why || 'resume'::text; end if;
  if not 'residue' = any (p_give_up) and (r.status = 'compensated_with_residue' or exists (select 1 from pawl.actions a where a.run_id = r.id and a.status = 'abandoned')) then why := why || 'residue'::text; end if;
  return why;
end $$;

-- prune_run: every row of a run that ended p_age_ms ago goes, its events with them, unless something needs one (prune_hold). What stays: its row in run_keys, so that
-- a start under the same key finds that it was done and starts nothing; and one event, its tombstone: what it was, how its calls ended, and a digest over
-- every key and outcome. None of its keys can be sent again: a key carries the run's id, a call is written only beside an item its run still has, items
-- are added only under the run's row, and nothing makes a run under an id that was used.
-- The age is judged by the database's clock, under the run's lock, and is an hour at least: a worker remembers its calls for a quarter of one, and a frozen one
-- may wake with an answer. Whoever resumes or compensates it meanwhile comes first or finds it gone. While the ledger's history is in question nothing goes:
-- its rows are what a person compares with the receivers.
-- Locks: run, then items in order. Returns (outcome, holds): pruned | held | young | missing | untrusted.
create or replace function pawl.prune_run(p_run uuid, p_age_ms bigint, p_give_up text[], p_actor text) returns table (outcome text, holds text[]) language plpgsql as $$
declare
  r pawl.runs;
  calls jsonb;
  digest text;
begin
  holds := '{}';
  select * into r from pawl.runs x where x.id = p_run for update;
  if not found then outcome := 'missing'; return next; return; end if;
  if not (select pawl.history_is_known(l) from pawl.ledger l) then outcome := 'untrusted'; return next; return; end if;
  if r.finished_at is null or r.finished_at > clock_timestamp() - greatest(p_age_ms, 3600000) * interval '1 ms' then outcome := 'young'; return next; return; end if;
  perform 1 from pawl.items i where i.run_id = p_run order by i.seq for update;
  holds := pawl.prune_hold(r, p_give_up);
  if cardinality(holds) > 0 then outcome := 'held'; return next; return; end if;
  select coalesce(jsonb_object_agg(c.status, c.n), '{}') into calls from (select a.status, count(*) as n from pawl.actions a where a.run_id = p_run group by a.status) c;
  select encode(sha256(convert_to(coalesce(string_agg(md5(concat_ws('|', a.key, a.status, a.args_digest, md5(coalesce(a.result, '')))), '' order by a.key), ''), 'UTF8')), 'hex') into digest
    from pawl.actions a where a.run_id = p_run;
  delete from pawl.approvals x where x.run_id = p_run;
  delete from pawl.questions x where x.run_id = p_run;
  delete from pawl.turns x where x.run_id = p_run;
  delete from pawl.records x where x.run_id = p_run;
  delete from pawl.attempts x where x.run_id = p_run;
  delete from pawl.actions x where x.run_id = p_run;
  delete from pawl.items x where x.run_id = p_run;
  delete from pawl.events x where x.run_id = p_run;
  delete from pawl.runs x where x.id = p_run;
  -- A stream that was never complete has no digest; with none, the same key would wait for it for ever.
  update pawl.run_keys k set digest = 'pruned' where k.run_id = p_run and k.digest is null;
  insert into pawl.events (run_id, kind, actor, data) values (p_run, 'run.pruned', p_actor, jsonb_build_object('namespace', r.namespace, 'agent', r.agent, 'version', r.agent_version,
    'status', r.status, 'createdAt', r.created_at, 'finishedAt', r.finished_at, 'items', r.items_total, 'calls', calls, 'digest', digest, 'gaveUp', to_jsonb(p_give_up)));
  outcome := 'pruned';
  return next;
end $$;
