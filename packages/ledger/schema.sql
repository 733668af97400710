-- Printed from the catalogs of an empty migrated database by src/print-schema.ts; columns in alphabetical order.
-- After a change of schema or verbs: PAWL_PRINT_SCHEMA=1 npx vitest run packages/ledger/src/print-schema

create sequence pawl.order_no as bigint;

create table pawl.actions (
  answerable_at timestamp(3) with time zone,
  applied_evidence text,
  approval_id bigint,
  args text not null,
  args_digest text not null,
  attempt integer not null default 1,
  committed_at timestamp(3) with time zone,
  effect text not null,
  epoch integer not null,
  error text,
  evidence text[] not null default '{}'::text[],
  id bigint not null generated always as identity,
  item_seq integer not null,
  key text not null,
  key_expires_at timestamp(3) with time zone,
  key_window_ms bigint,
  order_no bigint not null default nextval('pawl.order_no'::regclass),
  refused integer not null default 0,
  result text,
  run_id uuid not null,
  sends integer not null default 1,
  settle_ms integer not null,
  settled_by text,
  staged_by integer,
  started_at timestamp(3) with time zone not null default clock_timestamp(),
  status text not null,
  timeout_ms integer not null,
  token uuid,
  tool text not null,
  tool_version text not null,
  turn integer,
  undo text,
  undoes bigint
);
create table pawl.approvals (
  action_id bigint not null,
  args_digest text not null,
  consumed_at timestamp(3) with time zone,
  consumed_ending integer,
  decided_at timestamp(3) with time zone,
  decided_by text,
  digest text not null,
  expires_at timestamp(3) with time zone not null,
  id bigint not null generated always as identity,
  irreversible boolean not null default false,
  item_seq integer not null,
  note text,
  requested_at timestamp(3) with time zone not null default clock_timestamp(),
  run_id uuid not null,
  status text not null default 'open'::text,
  tool text not null,
  tool_version text not null
);
create table pawl.attempts (
  agent_version text not null,
  build_version text,
  epoch integer not null,
  item_seq integer not null,
  lock_digest text,
  model_version text,
  prompt_version text,
  run_id uuid not null,
  schema_version integer not null,
  started_at timestamp(3) with time zone not null default clock_timestamp(),
  worker_id uuid not null
);
create table pawl.bulk_runs (
  at timestamp(3) with time zone,
  bulk_id uuid not null,
  detail text,
  outcome text,
  run_id uuid not null
);
create table pawl.bulks (
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  created_by text not null,
  digest text not null,
  id uuid not null,
  key text,
  namespace text not null,
  reason text,
  total integer not null,
  verb text not null
);
create table pawl.events (
  actor text not null,
  at timestamp(3) with time zone not null default clock_timestamp(),
  data jsonb not null default '{}'::jsonb,
  id bigint not null generated always as identity,
  item_seq integer,
  kind text not null,
  run_id uuid not null
);
create table pawl.items (
  allow_new_calls boolean not null default false,
  attempts integer not null default 0,
  available_at timestamp(3) with time zone not null default clock_timestamp(),
  barren_attempts integer not null default 0,
  blocked_detail text,
  blocked_reason text,
  claim_nonce uuid,
  cost_micros bigint not null default 0,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  dispatched_at timestamp(3) with time zone,
  epoch integer not null default 0,
  error text,
  failures integer not null default 0,
  finished_at timestamp(3) with time zone,
  generation integer not null default 0,
  key text not null,
  kind text not null,
  lease_until timestamp(3) with time zone,
  payload text not null,
  result text,
  result_ref text,
  run_id uuid not null,
  schema_version integer,
  seq integer not null,
  started_at timestamp(3) with time zone,
  status text not null default 'pending'::text,
  stream_no integer not null default 0,
  tokens_used bigint not null default 0,
  worker_id uuid
);
create table pawl.ledger (
  cleared_at timestamp(3) with time zone,
  cleared_by text,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  id uuid not null,
  kept_until timestamp(3) with time zone,
  lost_calls jsonb not null default '[]'::jsonb,
  noticed_at timestamp(3) with time zone,
  noticed_why text,
  one boolean not null default true,
  system_identifier text not null,
  timeline text not null,
  written_in text
);
create table pawl.questions (
  answer text,
  answer_schema text not null,
  answered_at timestamp(3) with time zone,
  answered_by text,
  asked_at timestamp(3) with time zone not null default clock_timestamp(),
  id bigint not null generated always as identity,
  item_seq integer not null,
  key text not null,
  order_no bigint not null default nextval('pawl.order_no'::regclass),
  question text not null,
  run_id uuid not null,
  status text not null default 'open'::text
);
create table pawl.records (
  at timestamp(3) with time zone not null default clock_timestamp(),
  item_seq integer not null,
  name text not null,
  order_no bigint not null default nextval('pawl.order_no'::regclass),
  run_id uuid not null,
  value text not null
);
create table pawl.run_keys (
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  digest text,
  key text not null,
  namespace text not null,
  run_id uuid not null
);
create table pawl.runs (
  agent text not null,
  agent_version text not null,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  created_by text not null,
  ending integer not null default 1,
  error text,
  finished_at timestamp(3) with time zone,
  id uuid not null,
  input text not null,
  items_total integer not null default 0,
  labels jsonb not null default '{}'::jsonb,
  lock_digest text,
  model_version text,
  namespace text not null,
  next_seq integer not null default 1,
  paused boolean not null default false,
  policy jsonb not null default '{}'::jsonb,
  prompt_version text,
  result text,
  schema_version integer not null default 1,
  started_at timestamp(3) with time zone,
  status text not null,
  stream_alive_at timestamp(3) with time zone,
  stream_no integer not null default 0,
  tools jsonb,
  trace_parent text
);
create table pawl.sweeper (
  cycles bigint not null default 0,
  holder uuid,
  lease_until timestamp(3) with time zone,
  one boolean not null default true
);
create table pawl.turns (
  at timestamp(3) with time zone not null default clock_timestamp(),
  cost_micros bigint not null default 0,
  decision text not null,
  epoch integer not null,
  input_tokens integer not null default 0,
  item_seq integer not null,
  model_version text not null,
  n integer not null,
  order_no bigint not null default nextval('pawl.order_no'::regclass),
  output_tokens integer not null default 0,
  prompt_version text not null,
  run_id uuid not null
);
create table pawl.workers (
  boot_id text,
  builds jsonb not null default '{}'::jsonb,
  heartbeat_at timestamp(3) with time zone not null default clock_timestamp(),
  host text not null,
  id uuid not null,
  name text not null,
  pid integer not null,
  pid_namespace text,
  pid_started_at text,
  reported_loss timestamp(3) with time zone,
  serves jsonb not null,
  started_at timestamp(3) with time zone not null default clock_timestamp()
);

alter table pawl.actions add constraint actions_run_id_id_pk PRIMARY KEY (run_id, id);
alter table pawl.approvals add constraint approvals_run_id_id_pk PRIMARY KEY (run_id, id);
alter table pawl.attempts add constraint attempts_run_id_item_seq_epoch_pk PRIMARY KEY (run_id, item_seq, epoch);
alter table pawl.bulk_runs add constraint bulk_runs_bulk_id_run_id_pk PRIMARY KEY (bulk_id, run_id);
alter table pawl.bulks add constraint bulks_pkey PRIMARY KEY (id);
alter table pawl.events add constraint events_run_id_id_pk PRIMARY KEY (run_id, id);
alter table pawl.items add constraint items_run_id_seq_pk PRIMARY KEY (run_id, seq);
alter table pawl.ledger add constraint ledger_is_one CHECK (one);
alter table pawl.ledger add constraint ledger_pkey PRIMARY KEY (one);
alter table pawl.questions add constraint questions_run_id_id_pk PRIMARY KEY (run_id, id);
alter table pawl.records add constraint records_run_id_item_seq_name_pk PRIMARY KEY (run_id, item_seq, name);
alter table pawl.run_keys add constraint run_keys_namespace_key_pk PRIMARY KEY (namespace, key);
alter table pawl.runs add constraint runs_pkey PRIMARY KEY (id);
alter table pawl.sweeper add constraint sweeper_is_one CHECK (one);
alter table pawl.sweeper add constraint sweeper_pkey PRIMARY KEY (one);
alter table pawl.turns add constraint turns_run_id_item_seq_n_pk PRIMARY KEY (run_id, item_seq, n);
alter table pawl.workers add constraint workers_pkey PRIMARY KEY (id);

CREATE INDEX actions_by_item ON pawl.actions USING btree (run_id, item_seq);
CREATE UNIQUE INDEX actions_by_key ON pawl.actions USING btree (run_id, key);
CREATE INDEX actions_in_doubt ON pawl.actions USING btree (run_id, id) WHERE (status = 'in_doubt'::text);
CREATE INDEX actions_staged ON pawl.actions USING btree (run_id, order_no) WHERE (status = 'staged'::text);
CREATE INDEX actions_started ON pawl.actions USING btree (run_id, item_seq) WHERE (status = 'started'::text);
CREATE INDEX approvals_by_action ON pawl.approvals USING btree (run_id, action_id);
CREATE INDEX approvals_open ON pawl.approvals USING btree (run_id, id) WHERE (status = 'open'::text);
CREATE INDEX bulk_runs_open ON pawl.bulk_runs USING btree (bulk_id, run_id) WHERE (outcome IS NULL);
CREATE UNIQUE INDEX bulks_by_key ON pawl.bulks USING btree (namespace, key);
CREATE INDEX items_blocked ON pawl.items USING btree (run_id, seq) WHERE (status = 'blocked'::text);
CREATE UNIQUE INDEX items_by_key ON pawl.items USING btree (run_id, kind, key);
CREATE INDEX items_held ON pawl.items USING btree (run_id, seq) WHERE (status = 'in_progress'::text);
CREATE UNIQUE INDEX items_one_compensation ON pawl.items USING btree (run_id) WHERE ((kind = 'compensate'::text) AND (status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'blocked'::text])));
CREATE UNIQUE INDEX items_one_finalizer ON pawl.items USING btree (run_id) WHERE ((kind = 'finalize'::text) AND (status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'blocked'::text])));
CREATE INDEX items_open ON pawl.items USING btree (run_id, status, available_at) WHERE (status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'blocked'::text]));
CREATE UNIQUE INDEX questions_by_key ON pawl.questions USING btree (run_id, item_seq, key);
CREATE INDEX questions_open ON pawl.questions USING btree (run_id, id) WHERE (status = 'open'::text);
CREATE INDEX run_keys_by_run ON pawl.run_keys USING btree (run_id);
CREATE INDEX runs_by_agent ON pawl.runs USING btree (agent, status);
CREATE INDEX runs_by_label ON pawl.runs USING gin (labels);
CREATE INDEX runs_by_label_value ON pawl.runs USING gin (jsonb_path_query_array(labels, '$.*'::jsonpath));
CREATE INDEX runs_by_status ON pawl.runs USING btree (namespace, status, created_at);
CREATE INDEX runs_by_time ON pawl.runs USING btree (namespace, created_at);
CREATE INDEX runs_open ON pawl.runs USING btree (created_at) WHERE (status = ANY (ARRAY['splitting'::text, 'running'::text, 'finalizing'::text, 'compensating'::text]));

CREATE TRIGGER keep_ended_items BEFORE UPDATE ON pawl.items FOR EACH ROW WHEN (((old.status = ANY (ARRAY['done'::text, 'failed'::text, 'cancelled'::text, 'compensated'::text])) AND (old.* IS DISTINCT FROM new.*))) EXECUTE FUNCTION pawl.keep_ended_items();

function pawl.add_evidence(p_run uuid, p_key text, p_entry text, p_result text, p_undo text) returns text language plpgsql volatile;
function pawl.add_items(p_run uuid, p_seq integer, p_epoch integer, p_keys text[], p_payloads text[], p_schema integer DEFAULT NULL::integer) returns TABLE(outcome text, names text[]) language plpgsql volatile;
function pawl.add_refusal(p_run uuid, p_key text, p_token uuid, p_error text) returns text language plpgsql volatile;
function pawl.advance_run(p_run uuid, OUT run_status text, OUT made boolean) returns record language plpgsql volatile;
function pawl.answer_doubt(p_run uuid, p_action bigint, p_attempt integer, p_evidence integer, p_answer text, p_result text, p_undo text, p_actor text, p_note text) returns TABLE(outcome text, action json) language plpgsql volatile;
function pawl.answer_question(p_run uuid, p_question bigint, p_answer text, p_actor text, p_note text) returns TABLE(outcome text, question json) language plpgsql volatile;
function pawl.append_items(p_run uuid, p_stream integer, p_keys text[], p_payloads text[], p_schema integer DEFAULT NULL::integer) returns TABLE(outcome text, duplicates text[]) language plpgsql volatile;
function pawl.ask_question(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_question text, p_schema text) returns TABLE(outcome text, question json) language plpgsql volatile;
function pawl.block_item(p_run uuid, p_seq integer, p_epoch integer, p_reason text, p_detail text) returns text language plpgsql volatile;
function pawl.block_unserved(p_agent text, p_version text) returns integer language plpgsql volatile;
function pawl.bring_back_actions(p_rows json) returns TABLE(run_id uuid, key text, outcome text) language plpgsql volatile;
function pawl.cancel_run(p_run uuid, p_actor text, p_reason text) returns TABLE(outcome text, status text, unsettled integer) language plpgsql volatile;
function pawl.claim_items(p_runs uuid[], p_seqs integer[], p_generations integer[], p_worker uuid, p_nonce uuid, p_ttl_ms integer, p_crash_budget integer, p_suspect_after integer, p_alone boolean, p_builds jsonb DEFAULT NULL::jsonb) returns TABLE(run_id uuid, seq integer, verdict text, item json, run json, journal json, records json, turns json, questions json, timeline text) language plpgsql volatile;
function pawl.clear_ledger(p_actor text, p_seen text) returns text language plpgsql volatile;
function pawl.close_compensation(p_run uuid, p_seq integer, p_epoch integer) returns TABLE(outcome text, residue integer) language plpgsql volatile;
function pawl.close_run(p_run uuid, p_seq integer, p_epoch integer, p_status text, p_result text, p_error text) returns text language plpgsql volatile;
function pawl.compensate_by_policy(p_run uuid, p_seq integer, p_epoch integer, p_reason text) returns text language plpgsql volatile;
function pawl.decide_approvals(p_run uuid, p_actions bigint[], p_digests text[], p_verdicts text[], p_actor text, p_note text) returns TABLE(action_id bigint, outcome text, action json, approval json) language plpgsql volatile;
function pawl.discard_actions(p_run uuid, p_seq integer, p_epoch integer, p_keys text[]) returns boolean language plpgsql volatile;
function pawl.discard_calls(p_run uuid, p_seq integer, p_keys text[], p_why text) returns void language plpgsql volatile;
function pawl.drop_stream(p_run uuid, p_stream integer) returns boolean language plpgsql volatile;
function pawl.expire_approvals() returns integer language plpgsql volatile;
function pawl.free_leases(p_worker uuid, p_ttl_ms integer) returns TABLE(run_id uuid, freed integer) language sql volatile;
function pawl.gap_digest(l pawl.ledger) returns text language plpgsql volatile;
function pawl.history_is_known(l pawl.ledger) returns boolean language plpgsql volatile;
function pawl.history_now() returns text language plpgsql volatile;
function pawl.is_held_back(a pawl.actions) returns boolean language sql volatile;
function pawl.is_served(r pawl.runs, it pawl.items) returns boolean language sql volatile;
function pawl.keep_call(it pawl.items, p_call json, p_status text) returns pawl.actions language plpgsql volatile;
function pawl.keep_ended_items() returns trigger language plpgsql volatile;
function pawl.kept_until() returns timestamp with time zone language sql volatile;
function pawl.lease_is_over(lease_until timestamp with time zone, ttl_ms integer) returns boolean language sql volatile;
function pawl.note_loss(p_since text, p_why text, p_lost jsonb, p_worker uuid DEFAULT NULL::uuid, p_late boolean DEFAULT false) returns boolean language plpgsql volatile;
function pawl.open_split_stream(p_run uuid, p_seq integer, p_epoch integer) returns integer language plpgsql volatile;
function pawl.open_stream(p_run uuid, p_alive_ms integer) returns integer language plpgsql volatile;
function pawl.owner_let_go(p_run uuid, p_seq integer) returns boolean language sql volatile;
function pawl.pause_run(p_run uuid, p_actor text, p_reason text DEFAULT NULL::text) returns TABLE(outcome text, status text) language plpgsql volatile;
function pawl.prune_hold(r pawl.runs, p_give_up text[]) returns text[] language plpgsql volatile;
function pawl.prune_run(p_run uuid, p_age_ms bigint, p_give_up text[], p_actor text) returns TABLE(outcome text, holds text[]) language plpgsql volatile;
function pawl.rearm_action(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_token uuid, p_tool_version text, p_margin_ms integer, p_timeout_ms integer, p_settle_ms integer, p_turn integer) returns TABLE(outcome text, action json, timeline text) language plpgsql volatile;
function pawl.reason_holds(p_run uuid, p_seq integer, p_reason text, p_detail text) returns boolean language plpgsql volatile;
function pawl.release_item(p_run uuid, p_seq integer, p_verb text, p_new_calls boolean, p_actor text, p_note text, p_attempts integer DEFAULT NULL::integer, p_reason text DEFAULT NULL::text) returns TABLE(outcome text, status text, reason text) language plpgsql volatile;
function pawl.repin_run(p_run uuid, p_expected text, p_version text, p_model text, p_prompt text, p_lock text, p_tools jsonb, p_actor text, p_reason text) returns TABLE(outcome text, status text, version text, moved integer) language plpgsql volatile;
function pawl.request_approval(p_run uuid, p_seq integer, p_epoch integer, p_call json, p_digest text, p_irreversible boolean, p_expires_ms double precision) returns TABLE(outcome text, action json, approval json) language plpgsql volatile;
function pawl.resume_run(p_run uuid, p_actor text, p_reason text DEFAULT NULL::text) returns TABLE(outcome text, status text, reopened integer) language plpgsql volatile;
function pawl.row_origin(p_xid xid) returns text language plpgsql volatile;
function pawl.seal_run(p_run uuid, p_stream integer, p_digest text) returns TABLE(outcome text, total integer) language plpgsql volatile;
function pawl.set_budget(p_run uuid, p_budget jsonb, p_item_budget jsonb, p_actor text, p_note text) returns TABLE(outcome text, status text) language plpgsql volatile;
function pawl.settle_action(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_verdict text, p_result text, p_undo text, p_by text, p_wait_ms integer) returns SETOF pawl.actions language plpgsql volatile;
function pawl.settle_action_json(p_run uuid, p_seq integer, p_epoch integer, p_key text, p_verdict text, p_result text, p_undo text, p_by text, p_wait_ms integer) returns TABLE(action json) language sql volatile;
function pawl.settler_of(p_run uuid, p_seqs integer[], p_staged_by integer) returns integer language sql volatile;
function pawl.stage_action(p_run uuid, p_seq integer, p_epoch integer, p_call json) returns TABLE(outcome text, action json) language plpgsql volatile;
function pawl.start_bulk(p_id uuid, p_namespace text, p_key text, p_digest text, p_verb text, p_by text, p_reason text, p_runs uuid[]) returns TABLE(outcome text, id uuid, digest text) language plpgsql volatile;
function pawl.start_compensation(p_run uuid, p_actor text, p_reason text) returns TABLE(outcome text, status text) language plpgsql volatile;
function pawl.start_run(p_id uuid, p_namespace text, p_key text, p_digest text, p_agent text, p_version text, p_model text, p_prompt text, p_schema integer, p_lock text, p_input text, p_labels jsonb, p_policy jsonb, p_by text, p_split boolean, p_tools jsonb DEFAULT NULL::jsonb, p_trace text DEFAULT NULL::text) returns TABLE(outcome text, run_id uuid, digest text, status text) language plpgsql volatile;
function pawl.step_bulk(p_bulk uuid) returns TABLE(bulk_id uuid, run_id uuid, verb text, outcome text) language plpgsql volatile;
function pawl.stop_items(p_run uuid) returns void language sql volatile;
function pawl.take_due_items(p_run uuid, p_window integer, OUT taken json, OUT live boolean, OUT more boolean) returns record language plpgsql volatile;
function pawl.timeline_now() returns text language sql volatile;
function pawl.unserved_because(r pawl.runs, it pawl.items, p_builds jsonb) returns jsonb language plpgsql volatile;
function pawl.wake_items(p_run uuid) returns SETOF uuid language plpgsql volatile;
