-- decide_approvals: a person's yes or no to calls exactly as they were shown, each by its action and digest; no other is touched.
-- Locks: the items in order, then actions and approvals in order. One conditional update decides; whoever comes later is told who was first, and when.
-- A no is the action's end (rejected). Returns for each: approved | rejected | missing | changed (another call than the one shown) |
-- decided (somebody was first; the approval says who) | expired | void | requester (the run's policy wants another person than the one who started it).
create or replace function pawl.decide_approvals(p_run uuid, p_actions bigint[], p_digests text[], p_verdicts text[], p_actor text, p_note text)
returns table (action_id bigint, outcome text, action json, approval json) language plpgsql as $$
declare
  w record;
  a pawl.actions;
  p pawl.approvals;
  is_requester boolean := (select r.created_by = p_actor and coalesce((r.policy -> 'approval' ->> 'notByRequester')::boolean, false) from pawl.runs r where r.id = p_run);
begin
  perform 1 from pawl.items i where i.run_id = p_run and i.seq in (select x.item_seq from pawl.actions x where x.run_id = p_run and x.id = any (p_actions)) order by i.seq for update;
  for w in select * from unnest(p_actions, p_digests, p_verdicts) as x(id, digest, verdict) order by x.id loop
    action_id := w.id; action := null; approval := null;
    select * into a from pawl.actions x where x.run_id = p_run and x.id = w.id for update;
    select * into p from pawl.approvals x where x.run_id = p_run and x.id = a.approval_id for update;
    if not found then outcome := 'missing'; return next; continue; end if;
    if p.status = 'open' and p.expires_at <= clock_timestamp() then
      update pawl.approvals x set status = 'expired' where x.run_id = p_run and x.id = p.id returning * into p;
    end if;
    action := row_to_json(a.*);
    outcome := case when p.digest <> w.digest then 'changed' when p.status in ('approved', 'rejected') then 'decided' when p.status <> 'open' then p.status
      when w.verdict = 'approved' and is_requester then 'requester' else w.verdict end;
    if outcome = w.verdict then
      update pawl.approvals x set status = w.verdict, decided_by = p_actor, decided_at = clock_timestamp(), note = p_note
        where x.run_id = p_run and x.id = p.id and x.status = 'open' returning * into p;
      if w.verdict = 'rejected' then
        update pawl.actions x set status = 'rejected', settled_by = 'person:' || p_actor,
          error = json_build_object('name', 'Rejected', 'message', p_actor || ' said no to ' || x.tool || coalesce(': ' || p_note, ''))::text
          where x.run_id = p_run and x.id = a.id and x.status = 'awaiting_approval' returning * into a;
        action := row_to_json(a.*);
      end if;
      insert into pawl.events (run_id, item_seq, kind, actor, data) values (p_run, a.item_seq, 'approval.' || w.verdict, p_actor,
        jsonb_build_object('action', a.id, 'approval', p.id, 'tool', p.tool, 'digest', p.digest, 'note', p_note));
    end if;
    approval := row_to_json(p.*);
    return next;
  end loop;
end $$;
