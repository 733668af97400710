-- note_loss: a process has seen that acknowledged writes may be missing. Sticks until a person clears the ledger; the first notice stands.
-- p_since: the `since` of the history that was seen; a ledger cleared since then is left alone. p_lost: a JSON array, appended.
-- kept_until: the last commit the server replayed (a promotion, a point-in-time restore); else the newest time the fleet wrote down.
-- Returns whether the loss stands noted.
create or replace function pawl.note_loss(p_since text, p_why text, p_lost jsonb) returns boolean language plpgsql as $$
begin
  update pawl.ledger l set
    noticed_at = coalesce(l.noticed_at, clock_timestamp()), noticed_why = coalesce(l.noticed_why, p_why), lost_calls = l.lost_calls || p_lost,
    kept_until = coalesce(l.kept_until, pg_last_xact_replay_timestamp(), (select max(w.heartbeat_at) from pawl.workers w), clock_timestamp())
    where l.written_in is not distinct from p_since;
  return found;
end $$;
