-- Ended items change only by a verb that reopens them (resume, compensate, closing a compensation).
-- Those verbs say so for their own transaction; anything else, to whatever column, is a bug and is refused.
create or replace function pawl.keep_ended_items() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('pawl.reopens', true), '') <> 'on' then
    raise exception 'item % of run % has ended as %; nothing of it may change (asked for: %)', old.seq, old.run_id, old.status, new.status using errcode = 'PW001';
  end if;
  return new;
end $$;
create or replace trigger keep_ended_items before update on pawl.items for each row
  when (old.status in ('done', 'failed', 'cancelled', 'compensated') and old.* is distinct from new.*)
  execute function pawl.keep_ended_items();
