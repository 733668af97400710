-- owner_let_go: may another item take this key over? Its owner has ended, or itself waits for a key.
create or replace function pawl.owner_let_go(p_run uuid, p_seq integer) returns boolean language sql volatile as $$
  select not exists (select 1 from pawl.items o where o.run_id = p_run and o.seq = p_seq
    and (o.status in ('pending', 'in_progress') or (o.status = 'blocked' and o.blocked_reason <> 'key')))
$$;
