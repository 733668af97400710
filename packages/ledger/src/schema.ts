/**
 * The tables, as drizzle knows them: source of the generated migrations and of typed reads.
 * Values (`payload`, `args`, `result`, …) are text written by the codec in core, never `jsonb`, which refuses NUL and changes numbers.
 * A run is the unit of distribution: every table but `ledger`, `workers`, `sweeper` and the two of bulk operations is keyed by its run first.
 */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, pgSchema, primaryKey, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core'

export const pawl = pgSchema('pawl')
const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })
const now = sql`clock_timestamp()`

/** Undo goes by this order, and so does "did the item do anything after it": one sequence for actions and records. */
export const orderNo = pawl.sequence('order_no')

export const ledgerTable = pawl.table('ledger', {
  one: boolean('one').primaryKey().default(true),
  id: uuid('id').notNull(),
  systemIdentifier: text('system_identifier').notNull(),
  timeline: text('timeline').notNull(),
  /** Database and transaction that wrote this row, as `oid/xid`: another once the row came out of a dump, or the database is a copy. */
  writtenIn: text('written_in'),
  createdAt: at('created_at').notNull().default(now),
  /** When a process first saw that writes may be missing; null while nothing is known of it. Until a person clears it, only reads are sent. */
  noticedAt: at('noticed_at'),
  noticedWhy: text('noticed_why'),
  /** Up to here the history is whole, as far as the server can tell. */
  keptUntil: at('kept_until'),
  /** Calls that a process remembers and that could not be brought back: `[{run, item, key, tool, effect, at, why}]`. */
  lostCalls: jsonb('lost_calls').notNull().default([]),
  clearedAt: at('cleared_at'),
  clearedBy: text('cleared_by'),
}, (t) => [check('ledger_is_one', sql`${t.one}`)])

export const runs = pawl.table('runs', {
  id: uuid('id').primaryKey(),
  namespace: text('namespace').notNull(),
  agent: text('agent').notNull(),
  agentVersion: text('agent_version').notNull(),
  modelVersion: text('model_version'),
  promptVersion: text('prompt_version'),
  /** Of input and payloads. 0: whoever started it did not say; the first claim does. */
  schemaVersion: integer('schema_version').notNull().default(1),
  lockDigest: text('lock_digest'),
  /** By tool name: version and format digest of what the run began with; null where whoever started it did not know. */
  tools: jsonb('tools').$type<Record<string, { version: string; format: string }>>(),
  input: text('input').notNull(),
  labels: jsonb('labels').$type<Record<string, string>>().notNull().default({}),
  policy: jsonb('policy').notNull().default({}),
  status: text('status').notNull(),
  paused: boolean('paused').notNull().default(false),
  itemsTotal: integer('items_total').notNull().default(0),
  nextSeq: integer('next_seq').notNull().default(1),
  /** Which stream of items is the current one: a late chunk of an older stream is refused. */
  streamNo: integer('stream_no').notNull().default(0),
  streamAliveAt: at('stream_alive_at'),
  /** How often the run was sent round again; part of the finalizer's key. */
  ending: integer('ending').notNull().default(1),
  createdBy: text('created_by').notNull(),
  /** W3C traceparent of the call that started it; null where nobody traced. Jobs carry ids only, so the trace lives here. */
  traceParent: text('trace_parent'),
  result: text('result'),
  error: text('error'),
  createdAt: at('created_at').notNull().default(now),
  startedAt: at('started_at'),
  finishedAt: at('finished_at'),
}, (t) => [
  index('runs_by_agent').on(t.agent, t.status),
  index('runs_by_time').on(t.namespace, t.createdAt),
  index('runs_by_status').on(t.namespace, t.status, t.createdAt),
  index('runs_by_label').using('gin', t.labels),
  index('runs_by_label_value').using('gin', sql`jsonb_path_query_array(labels, '$.*')`),
  index('runs_open').on(t.createdAt).where(sql`status in ('splitting', 'running', 'finalizing', 'compensating')`),
])

export const runKeys = pawl.table('run_keys', {
  namespace: text('namespace').notNull(),
  key: text('key').notNull(),
  runId: uuid('run_id').notNull(),
  /** Of the whole request; null while a stream is not complete. */
  digest: text('digest'),
  createdAt: at('created_at').notNull().default(now),
}, (t) => [primaryKey({ columns: [t.namespace, t.key] }), index('run_keys_by_run').on(t.runId)])

export const items = pawl.table('items', {
  runId: uuid('run_id').notNull(),
  seq: integer('seq').notNull(),
  kind: text('kind').notNull(),
  key: text('key').notNull(),
  payload: text('payload').notNull(),
  /** Of its payload, where it is not the run's: a newer build added it. */
  schemaVersion: integer('schema_version'),
  status: text('status').notNull().default('pending'),
  blockedReason: text('blocked_reason'),
  /** JSON: what the page shows beside the reason, and what wakes it. */
  blockedDetail: text('blocked_detail'),
  attempts: integer('attempts').notNull().default(0),
  failures: integer('failures').notNull().default(0),
  barrenAttempts: integer('barren_attempts').notNull().default(0),
  epoch: integer('epoch').notNull().default(0),
  workerId: uuid('worker_id'),
  claimNonce: uuid('claim_nonce'),
  leaseUntil: at('lease_until'),
  generation: integer('generation').notNull().default(0),
  dispatchedAt: at('dispatched_at'),
  /** Not before; its creation where nothing was delayed: then no clock is asked. */
  availableAt: at('available_at').notNull().default(now),
  streamNo: integer('stream_no').notNull().default(0),
  /** Spent by its turns so far; a budget is asked before the next one. */
  tokensUsed: bigint('tokens_used', { mode: 'number' }).notNull().default(0),
  costMicros: bigint('cost_micros', { mode: 'number' }).notNull().default(0),
  /** A person said of a diverged item: these are new calls. Holds for one attempt. */
  allowNewCalls: boolean('allow_new_calls').notNull().default(false),
  result: text('result'),
  resultRef: text('result_ref'),
  error: text('error'),
  createdAt: at('created_at').notNull().default(now),
  startedAt: at('started_at'),
  finishedAt: at('finished_at'),
}, (t) => [
  primaryKey({ columns: [t.runId, t.seq] }),
  uniqueIndex('items_by_key').on(t.runId, t.kind, t.key),
  index('items_open').on(t.runId, t.status, t.availableAt).where(sql`status in ('pending', 'in_progress', 'blocked')`),
  index('items_blocked').on(t.runId, t.seq).where(sql`status = 'blocked'`),
  index('items_held').on(t.runId, t.seq).where(sql`status = 'in_progress'`),
  uniqueIndex('items_one_finalizer').on(t.runId).where(sql`kind = 'finalize' and status in ('pending', 'in_progress', 'blocked')`),
  uniqueIndex('items_one_compensation').on(t.runId).where(sql`kind = 'compensate' and status in ('pending', 'in_progress', 'blocked')`),
])

export const actions = pawl.table('actions', {
  runId: uuid('run_id').notNull(),
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
  orderNo: bigint('order_no', { mode: 'number' }).notNull().default(sql`nextval('pawl.order_no')`),
  itemSeq: integer('item_seq').notNull(),
  /** The turn that decided this call; null where code did. */
  turn: integer('turn'),
  key: text('key').notNull(),
  tool: text('tool').notNull(),
  toolVersion: text('tool_version').notNull(),
  effect: text('effect').notNull(),
  status: text('status').notNull(),
  /** Sends under this key, this one included; a new token each. */
  attempt: integer('attempt').notNull().default(1),
  epoch: integer('epoch').notNull(),
  token: uuid('token'),
  sends: integer('sends').notNull().default(1),
  /** How many of the sends are proved not applied. `failed` only when all are. */
  refused: integer('refused').notNull().default(0),
  args: text('args').notNull(),
  argsDigest: text('args_digest').notNull(),
  result: text('result'),
  evidence: text('evidence').array().notNull().default(sql`'{}'`),
  /** The result an earlier holder brought too late for its own completion. */
  appliedEvidence: text('applied_evidence'),
  error: text('error'),
  /** The inverse as data: `{ tool, toolVersion, input }`. */
  undo: text('undo'),
  undoes: bigint('undoes', { mode: 'number' }),
  /** The newest request for a person's yes to this call. Once there is one, the row decides, not the tool's policy. */
  approvalId: bigint('approval_id', { mode: 'number' }),
  /** The item whose call was held back to the end of the run; null for every other call. */
  stagedBy: integer('staged_by'),
  /** Of a call that is kept before its first send: how long the receiver will remember the key from then on. */
  keyWindowMs: bigint('key_window_ms', { mode: 'number' }),
  settledBy: text('settled_by'),
  timeoutMs: integer('timeout_ms').notNull(),
  settleMs: integer('settle_ms').notNull(),
  keyExpiresAt: at('key_expires_at'),
  /** An in-doubt action may be answered from here on: no late send of its can follow. */
  answerableAt: at('answerable_at'),
  startedAt: at('started_at').notNull().default(now),
  committedAt: at('committed_at'),
}, (t) => [
  primaryKey({ columns: [t.runId, t.id] }),
  uniqueIndex('actions_by_key').on(t.runId, t.key),
  index('actions_by_item').on(t.runId, t.itemSeq),
  index('actions_started').on(t.runId, t.itemSeq).where(sql`status = 'started'`),
  index('actions_in_doubt').on(t.runId, t.id).where(sql`status = 'in_doubt'`),
  index('actions_staged').on(t.runId, t.orderNo).where(sql`status = 'staged'`),
])

/** One request for a person's yes or no to one exact call: this tool, this version, these arguments. Used once, inside the intent. */
export const approvals = pawl.table('approvals', {
  runId: uuid('run_id').notNull(),
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
  actionId: bigint('action_id', { mode: 'number' }).notNull(),
  itemSeq: integer('item_seq').notNull(),
  tool: text('tool').notNull(),
  toolVersion: text('tool_version').notNull(),
  argsDigest: text('args_digest').notNull(),
  /** Of tool, version and arguments together: what a person is shown, and names in the answer. */
  digest: text('digest').notNull(),
  irreversible: boolean('irreversible').notNull().default(false),
  /** open | approved | rejected | expired | void. `void`: asked anew, or its call is no longer to be made. */
  status: text('status').notNull().default('open'),
  requestedAt: at('requested_at').notNull().default(now),
  expiresAt: at('expires_at').notNull(),
  decidedBy: text('decided_by'),
  decidedAt: at('decided_at'),
  note: text('note'),
  /** With the first send it allowed; re-sends of the same unsettled call rest on it until it expires. */
  consumedAt: at('consumed_at'),
  /** The run's ending then: sent round again since, a call that failed is asked for anew. */
  consumedEnding: integer('consumed_ending'),
}, (t) => [
  primaryKey({ columns: [t.runId, t.id] }),
  index('approvals_by_action').on(t.runId, t.actionId),
  index('approvals_open').on(t.runId, t.id).where(sql`status = 'open'`),
])

/** What an agent asked a person, and the typed answer. */
export const questions = pawl.table('questions', {
  runId: uuid('run_id').notNull(),
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
  itemSeq: integer('item_seq').notNull(),
  /** Which question of its item: the same on every attempt. */
  key: text('key').notNull(),
  orderNo: bigint('order_no', { mode: 'number' }).notNull().default(sql`nextval('pawl.order_no')`),
  question: text('question').notNull(),
  /** JSON schema of the answer. */
  answerSchema: text('answer_schema').notNull(),
  /** open | answered | void. */
  status: text('status').notNull().default('open'),
  answer: text('answer'),
  askedAt: at('asked_at').notNull().default(now),
  answeredBy: text('answered_by'),
  answeredAt: at('answered_at'),
}, (t) => [
  primaryKey({ columns: [t.runId, t.id] }),
  uniqueIndex('questions_by_key').on(t.runId, t.itemSeq, t.key),
  index('questions_open').on(t.runId, t.id).where(sql`status = 'open'`),
])

/** One decision of a model each, durable before anything in it is sent. */
export const turns = pawl.table('turns', {
  runId: uuid('run_id').notNull(),
  itemSeq: integer('item_seq').notNull(),
  /** 1, 2, … within its item. */
  n: integer('n').notNull(),
  orderNo: bigint('order_no', { mode: 'number' }).notNull().default(sql`nextval('pawl.order_no')`),
  epoch: integer('epoch').notNull(),
  modelVersion: text('model_version').notNull(),
  promptVersion: text('prompt_version').notNull(),
  /** The model's whole answer, by the codec: text, calls, why it stopped. */
  decision: text('decision').notNull(),
  inputTokens: integer('input_tokens').notNull().default(0),
  outputTokens: integer('output_tokens').notNull().default(0),
  costMicros: bigint('cost_micros', { mode: 'number' }).notNull().default(0),
  at: at('at').notNull().default(now),
}, (t) => [primaryKey({ columns: [t.runId, t.itemSeq, t.n] })])

/** Each claim of an item, with the run's pins as it ran under them, and the build that ran it. */
export const attempts = pawl.table('attempts', {
  runId: uuid('run_id').notNull(),
  itemSeq: integer('item_seq').notNull(),
  epoch: integer('epoch').notNull(),
  workerId: uuid('worker_id').notNull(),
  agentVersion: text('agent_version').notNull(),
  modelVersion: text('model_version'),
  promptVersion: text('prompt_version'),
  schemaVersion: integer('schema_version').notNull(),
  lockDigest: text('lock_digest'),
  /** The agent version of the worker's own code; another than `agentVersion` where it serves older ones. Null: a worker from before this column. */
  buildVersion: text('build_version'),
  startedAt: at('started_at').notNull().default(now),
}, (t) => [primaryKey({ columns: [t.runId, t.itemSeq, t.epoch] })])

export const records = pawl.table('records', {
  runId: uuid('run_id').notNull(),
  itemSeq: integer('item_seq').notNull(),
  name: text('name').notNull(),
  orderNo: bigint('order_no', { mode: 'number' }).notNull().default(sql`nextval('pawl.order_no')`),
  value: text('value').notNull(),
  at: at('at').notNull().default(now),
}, (t) => [primaryKey({ columns: [t.runId, t.itemSeq, t.name] })])

export const workers = pawl.table('workers', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  host: text('host').notNull(),
  /** With pid namespace, pid and start time: proof that a predecessor on this host is dead. Null where there is none. */
  bootId: text('boot_id'),
  pidNamespace: text('pid_namespace'),
  pid: integer('pid').notNull(),
  pidStartedAt: text('pid_started_at'),
  serves: jsonb('serves').$type<string[]>().notNull(),
  /** By `agent@version`: what this process's code has for its runs. A row stands for a live process; silent ones are removed. */
  builds: jsonb('builds').notNull().default({}),
  startedAt: at('started_at').notNull().default(now),
  heartbeatAt: at('heartbeat_at').notNull().default(now),
  /** `noticed_at` of the loss after which it has brought back all it remembers. */
  reportedLoss: at('reported_loss'),
})

export const sweeper = pawl.table('sweeper', {
  one: boolean('one').primaryKey().default(true),
  holder: uuid('holder'),
  leaseUntil: at('lease_until'),
  cycles: bigint('cycles', { mode: 'number' }).notNull().default(0),
}, (t) => [check('sweeper_is_one', sql`${t.one}`)])

export const events = pawl.table('events', {
  runId: uuid('run_id').notNull(),
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
  itemSeq: integer('item_seq'),
  kind: text('kind').notNull(),
  actor: text('actor').notNull(),
  data: jsonb('data').notNull().default({}),
  at: at('at').notNull().default(now),
}, (t) => [primaryKey({ columns: [t.runId, t.id] })])

/** One verb for many runs, as somebody asked for it. */
export const bulks = pawl.table('bulks', {
  /** UUIDv7: by time. */
  id: uuid('id').primaryKey(),
  namespace: text('namespace').notNull(),
  /** The caller's Idempotency-Key. */
  key: text('key'),
  /** Of the whole request. */
  digest: text('digest').notNull(),
  /** pause | resume | cancel. */
  verb: text('verb').notNull(),
  createdBy: text('created_by').notNull(),
  reason: text('reason'),
  total: integer('total').notNull(),
  createdAt: at('created_at').notNull().default(now),
}, (t) => [uniqueIndex('bulks_by_key').on(t.namespace, t.key)])

/** What became of each run of a bulk. */
export const bulkRuns = pawl.table('bulk_runs', {
  bulkId: uuid('bulk_id').notNull(),
  runId: uuid('run_id').notNull(),
  /** done | wrong_state | missing | failed; null: not yet. */
  outcome: text('outcome'),
  /** The run's status then; of a failure the reason. */
  detail: text('detail'),
  at: at('at'),
}, (t) => [primaryKey({ columns: [t.bulkId, t.runId] }), index('bulk_runs_open').on(t.bulkId, t.runId).where(sql`outcome is null`)])
