-- note_loss: a process has seen that acknowledged writes may be missing. Sticks until a person clears the ledger; the first notice stands.
-- p_since: the `since` of the history that was seen; a ledger cleared since then is left alone. p_lost: a JSON array of calls that could not be brought back, appended, each once.
-- p_worker: it has brought back all that it remembers, and needs not be waited for. p_late: the ledger was cleared before these calls were noted: they hold it once more,
-- but for those that a person was shown then. Locks: the ledger's row. Returns false where the ledger was cleared since p_since.
-- An earlier build's has neither of the last two.
drop function if exists pawl.note_loss(text, text, jsonb);
create or replace function pawl.note_loss(p_since text, p_why text, p_lost jsonb, p_worker uuid default null, p_late boolean default false) returns boolean language plpgsql as $$
declare
  l pawl.ledger;
  is_first boolean;
  fresh jsonb;
begin
  select * into l from pawl.ledger x where x.written_in is not distinct from p_since for update;
  if not found then return false; end if;
  is_first := l.noticed_at is null;
  select coalesce(jsonb_agg(c), '[]') into fresh from jsonb_array_elements(p_lost) c where (is_first and not p_late)
    or not exists (select 1 from jsonb_array_elements(l.lost_calls) k where k ->> 'run' = c ->> 'run' and k ->> 'key' = c ->> 'key' and k ->> 'why' = c ->> 'why');
  if is_first and p_late and fresh = '[]' then return true; end if;
  update pawl.ledger x set
    noticed_at = coalesce(x.noticed_at, clock_timestamp()),
    noticed_why = case when is_first then p_why else x.noticed_why end,
    lost_calls = case when is_first then fresh else x.lost_calls || fresh end,
    kept_until = case when not is_first or (p_late and x.kept_until is not null) then x.kept_until else pawl.kept_until() end
    returning x.noticed_at into l.noticed_at;
  update pawl.workers w set reported_loss = l.noticed_at where w.id = p_worker;
  return true;
end $$;

-- kept_until: up to when the history is whole: the last commit the server replayed (a promotion, a point-in-time restore); else the newest time the fleet wrote down.
create or replace function pawl.kept_until() returns timestamptz language sql volatile as $$
  select coalesce(pg_last_xact_replay_timestamp(), (select max(w.heartbeat_at) from pawl.workers w), (select max(r.created_at) from pawl.runs r), clock_timestamp())
$$;
