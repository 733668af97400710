-- lease_is_over: by the primary's clock. A lease further away than twice its length was written before the clock stepped back.
create or replace function pawl.lease_is_over(lease_until timestamptz, ttl_ms integer) returns boolean language sql volatile as $$
  select lease_until is null or lease_until <= clock_timestamp() or lease_until > clock_timestamp() + make_interval(secs => ttl_ms / 1000.0 * 2)
$$;
