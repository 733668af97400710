-- history_now: which history this statement is written on, as JSON text. Every statement that allows a send returns it.
--   since   database and transaction that wrote the ledger's row; a clearing changes it
--   known   the server, its timeline and the row are those the ledger was last cleared on, and nobody has noticed a loss
--   cleared when a person last cleared it, in milliseconds since 1970; 0 for never
--   lsn     what is durable, in bytes of write-ahead log: never falls, unless files were put back as they had been
-- In plpgsql, which keeps its plans: as plain SQL these are planned anew in every flush.
create or replace function pawl.history_now() returns text language plpgsql volatile as $$
declare l pawl.ledger;
begin
  select * into l from pawl.ledger;
  return json_build_object('timeline', pawl.timeline_now(), 'since', l.written_in, 'known', pawl.history_is_known(l),
    'cleared', coalesce(extract(epoch from l.cleared_at) * 1000, 0), 'lsn', (pg_current_wal_flush_lsn() - '0/0')::text)::text;
end $$;

-- row_origin: what `written_in` must say of a row written by the transaction p_xid of this database. A dump that is loaded, and a copied database, have another.
create or replace function pawl.row_origin(p_xid xid) returns text language plpgsql volatile as $$
begin
  return (select d.oid from pg_database d where d.datname = current_database())::text || '/' || p_xid::text;
end $$;

-- history_is_known: false after a promotion, a restore, a load of a dump, or once a loss was noticed.
create or replace function pawl.history_is_known(l pawl.ledger) returns boolean language plpgsql volatile as $$
begin
  return l.noticed_at is null and l.timeline = pawl.timeline_now()
    and l.system_identifier = (select s.system_identifier::text from pg_control_system() s)
    and l.written_in = pawl.row_origin((select x.xmin from pawl.ledger x));
end $$;
