-- gap_digest: a short name for what a person is shown of a loss: which history it is, when it was noticed, and the calls that could not be brought back. Changes with each of them.
create or replace function pawl.gap_digest(l pawl.ledger) returns text language plpgsql volatile as $$
begin
  return left(md5(concat_ws('|', l.written_in, pawl.timeline_now(), (select s.system_identifier from pg_control_system() s), extract(epoch from l.noticed_at),
    case when l.noticed_at is not null then l.lost_calls end)), 8);
end $$;

-- clear_ledger: a person's word that what may be missing was looked at; sends go on. p_seen: the gap_digest of what they were shown. What was noted since,
-- the calls of a worker that came back late, nobody has looked at: then nothing is cleared. Locks: the ledger's row. Returns cleared | changed.
create or replace function pawl.clear_ledger(p_actor text, p_seen text) returns text language plpgsql as $$
declare l pawl.ledger;
begin
  select * into l from pawl.ledger for update;
  if pawl.gap_digest(l) is distinct from p_seen then return 'changed'; end if;
  update pawl.ledger set system_identifier = (select s.system_identifier::text from pg_control_system() s), timeline = pawl.timeline_now(),
    written_in = pawl.row_origin(pg_current_xact_id()::xid), noticed_at = null, cleared_at = clock_timestamp(), cleared_by = p_actor;
  return 'cleared';
end $$;
