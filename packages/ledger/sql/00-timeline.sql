-- timeline_now: the write-ahead log's timeline, from the current file's name; pg_control_checkpoint() lags behind a promotion.
create or replace function pawl.timeline_now() returns text language sql volatile as $$
  select substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
$$;
