/**
 * Every metric by name: what it counts, in which unit, by which labels. Said once, for those who count, for the registries of the apps and for
 * docs/observability.md, which a test compares with this table. Labels hold what code or configuration bounds (agents, versions, statuses), never what a
 * run brings: no run, item, key or tool.
 */
export type MetricType = 'counter' | 'gauge' | 'histogram'

export interface MetricDefinition {
  readonly type: MetricType
  readonly help: string
  readonly labels: readonly string[]
  /** Of histograms: upper bounds, in the metric's unit. */
  readonly buckets?: readonly number[]
  /** How the values of a host's worker processes become one. Default: their sum. */
  readonly aggregate?: 'max'
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

export const METRICS = {
  // From the ledger, told by the producer.
  pawl_ledger_reachable: { type: 'gauge', help: '1 where the ledger answered the last count, 0 where the figures from the ledger are missing', labels: [] },
  pawl_runs: { type: 'gauge', help: 'Runs by agent and status, ended ones too', labels: ['agent', 'status'] },
  pawl_items: { type: 'gauge', help: 'Items that are not ended, by agent and status', labels: ['agent', 'status'] },
  pawl_actions: { type: 'gauge', help: 'Actions nobody is done with, by agent and status', labels: ['agent', 'status'] },
  pawl_backlog: { type: 'gauge', help: 'Items that are not ended, by agent, version and state: due, delayed, in_progress, blocked, held', labels: ['agent', 'version', 'state'] },
  pawl_oldest_due_seconds: { type: 'gauge', help: 'How long the item that waits longest for a worker has been due', labels: [] },
  pawl_actions_unsettled: { type: 'gauge', help: 'Actions that were started, whose holder is gone, and that nobody has settled yet', labels: [] },
  pawl_actions_in_doubt: { type: 'gauge', help: 'Actions that only a person can settle', labels: [] },
  pawl_oldest_unsettled_seconds: { type: 'gauge', help: 'Age of the oldest action that is unsettled or in doubt', labels: [] },
  // HTTP of producer and dashboard.
  pawl_http_requests_total: { type: 'counter', help: 'Requests answered', labels: ['method', 'route', 'status'] },
  // Of every process that works on items: workers, and the producer, which splits.
  pawl_attempts_total: { type: 'counter', help: 'Attempts that ended, by agent, kind of item and verdict', labels: ['agent', 'kind', 'verdict'] },
  pawl_attempt_seconds: { type: 'histogram', help: 'Length of an attempt', labels: ['kind'], buckets: seconds },
  pawl_actions_total: { type: 'counter', help: 'Sends by agent and what came back: returned, refused, unsent, unknown', labels: ['agent', 'outcome'] },
  pawl_action_seconds: { type: 'histogram', help: 'From the send of a call to its answer', labels: [], buckets: seconds },
  pawl_settled_total: { type: 'counter', help: 'Unsettled actions somebody found out about, by agent and outcome: applied, not_applied, parked', labels: ['agent', 'outcome'] },
  pawl_lease_losses_total: { type: 'counter', help: 'Attempts that ended because their lease was lost', labels: ['agent'] },
  pawl_turns_total: { type: 'counter', help: 'Decisions of models', labels: ['agent'] },
  pawl_tokens_total: { type: 'counter', help: 'Tokens of those decisions, by direction: input, output', labels: ['agent', 'direction'] },
  pawl_dispatched_total: { type: 'counter', help: 'Items rung for', labels: [] },
  pawl_dispatch_lag_seconds: { type: 'histogram', help: 'From the ring for an item to its claim, by the clock of the database', labels: [], buckets: seconds },
  pawl_flush_items: { type: 'histogram', help: 'Items written by one flush of the ledger', labels: [], buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500] },
  pawl_flush_seconds: { type: 'histogram', help: 'Length of one flush of the ledger', labels: [], buckets: seconds },
  pawl_attempts_running: { type: 'gauge', help: 'Attempts under way', labels: [] },
  // Of a host's workers, told by their supervisor.
  pawl_worker_processes: { type: 'gauge', help: 'Worker processes that are ready', labels: [] },
  pawl_worker_deaths_total: { type: 'counter', help: 'Worker processes that died unasked', labels: [] },
  pawl_worker_resident_bytes: { type: 'gauge', help: 'Memory of the worker processes together', labels: [] },
  pawl_worker_event_loop_lag_seconds: { type: 'gauge', help: 'How long the busiest worker process held its event loop up lately (99th percentile)', labels: [], aggregate: 'max' },
} as const satisfies Record<string, MetricDefinition>

export type MetricName = keyof typeof METRICS
export type MetricLabels = Readonly<Record<string, string>>
/** Counters grow by `value`, histograms take it in. Never throws, never waits. */
export type Observe = (name: MetricName, value: number, labels?: MetricLabels) => void
