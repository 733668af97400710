-- free_leases: ended leases (p_worker null), or all leases of a worker proved dead: the items become pending, which also fences the old holder.
-- Locks: items in order, skipping what is being written. Each leaves an event: who lost what, and when it was noticed. Returns the runs that have something due now, with the number of items freed.
create or replace function pawl.free_leases(p_worker uuid, p_ttl_ms integer) returns table (run_id uuid, freed integer) language sql as $$
  with held as (
    select i.run_id, i.seq, i.worker_id from pawl.items i where i.status = 'in_progress'
      and case when p_worker is null then pawl.lease_is_over(i.lease_until, p_ttl_ms) else i.worker_id = p_worker end
      order by i.run_id, i.seq for update skip locked),
  f as (update pawl.items i set status = 'pending', worker_id = null, lease_until = null, dispatched_at = null
    from held where i.run_id = held.run_id and i.seq = held.seq returning i.run_id, i.seq, i.epoch, held.worker_id),
  e as (insert into pawl.events (run_id, item_seq, kind, actor, data)
    select f.run_id, f.seq, 'item.lease_ended', 'pawl', jsonb_build_object('worker', f.worker_id, 'epoch', f.epoch) from f)
  select f.run_id, count(*)::integer from f group by f.run_id
$$;
