-- note_loss: a process has seen that acknowledged writes may be missing. Sticks until a person clears the ledger; the first notice stands.
-- p_since: the `since` of the history that was seen; a ledger cleared since then is left alone. p_lost: a JSON array, appended.
-- Returns whether the loss stands noted.
create or replace function pawl.note_loss(p_since text, p_why text, p_lost jsonb) returns boolean language plpgsql as $$
begin
  update pawl.ledger l set
    noticed_at = coalesce(l.noticed_at, clock_timestamp()),
    noticed_why = case when l.noticed_at is null then p_why else l.noticed_why end,
    lost_calls = case when l.noticed_at is null then p_lost else l.lost_calls || p_lost end,
    kept_until = case when l.noticed_at is null then pawl.kept_until() else l.kept_until end
    where l.written_in is not distinct from p_since;
  return found;
end $$;

-- kept_until: up to when the history is whole: the last commit the server replayed (a promotion, a point-in-time restore); else the newest time the fleet wrote down.
create or replace function pawl.kept_until() returns timestamptz language sql volatile as $$
  select coalesce(pg_last_xact_replay_timestamp(), (select max(w.heartbeat_at) from pawl.workers w), (select max(r.created_at) from pawl.runs r), clock_timestamp())
$$;
