-- step_bulk: does a bulk's verb to one run that it was not done to yet, and writes down what became of it, in one transaction: whoever dies in the middle
-- has done neither, and another takes the run. Two at once never take the same one, and a run that somebody else has in hand is passed over: it waits for
-- another look, and holds up no other. The verb's own refusal is an outcome; so is its failure, which leaves the run as it was. A deadlock is neither: the
-- statement is sent again. A run that is gone meanwhile is closed as missing.
-- Locks: the bulk's entry with its run, then what the verb locks. Returns the step, or no row where nothing is free (p_bulk null: of any bulk).
create or replace function pawl.step_bulk(p_bulk uuid) returns table (bulk_id uuid, run_id uuid, verb text, outcome text) language plpgsql as $$
declare
  e pawl.bulk_runs;
  b pawl.bulks;
  said text;
  why text;
begin
  select x.* into e from pawl.bulk_runs x join pawl.runs r on r.id = x.run_id
    where x.outcome is null and (p_bulk is null or x.bulk_id = p_bulk) order by x.bulk_id, x.run_id limit 1 for update of x, r skip locked;
  if not found then
    update pawl.bulk_runs x set outcome = 'missing', at = clock_timestamp()
      where x.outcome is null and (p_bulk is null or x.bulk_id = p_bulk) and not exists (select 1 from pawl.runs r where r.id = x.run_id);
    return;
  end if;
  select * into b from pawl.bulks x where x.id = e.bulk_id;
  begin
    if b.verb = 'pause' then select v.outcome, v.status into said, why from pawl.pause_run(e.run_id, b.created_by, b.reason) v;
    elsif b.verb = 'resume' then select v.outcome, v.status into said, why from pawl.resume_run(e.run_id, b.created_by, b.reason) v;
    elsif b.verb = 'cancel' then select v.outcome, v.status into said, why from pawl.cancel_run(e.run_id, b.created_by, b.reason) v;
    else raise exception 'a bulk has no verb %', b.verb;
    end if;
    said := case said when 'wrong_state' then said when 'missing' then said else 'done' end;
  exception
    when deadlock_detected then raise;
    when query_canceled or others then said := 'failed'; why := sqlerrm;
  end;
  update pawl.bulk_runs x set outcome = said, detail = why, at = clock_timestamp() where x.bulk_id = e.bulk_id and x.run_id = e.run_id;
  return query select e.bulk_id, e.run_id, b.verb, said;
end $$;
