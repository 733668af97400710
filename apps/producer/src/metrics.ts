/** The producer's registry: its requests, its harness, and what the ledger holds as it was counted last. */
import { METRICS, type MetricName, type Observe } from '@pawl/core'
import { harnessMetrics, registerMetrics } from '@pawl/telemetry'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { boundAgents, type LedgerFigures } from './ledger-figures.ts'

export interface Metrics {
  readonly registry: Registry
  readonly observe: Observe
}

export function makeMetrics(figures: () => Promise<LedgerFigures | undefined>): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const observe = registerMetrics(registry, ['pawl_http_requests_total', ...harnessMetrics])
  const gauge = (name: MetricName, fill: (set: (value: number, labels?: Record<string, string>) => void, figures: LedgerFigures) => void): void => {
    const { help, labels } = METRICS[name]
    new Gauge({
      name, help, labelNames: [...labels], registers: [registry],
      async collect() {
        this.reset()
        const found = await figures()
        // Rows that fall together, under `other`, add up.
        if (found !== undefined) fill((value, by = {}) => this.inc(by, value), found)
        else if (labels.length === 0) this.remove()
      },
    })
  }
  new Gauge({ name: 'pawl_ledger_reachable', help: METRICS.pawl_ledger_reachable.help, registers: [registry], async collect() { this.set((await figures()) === undefined ? 0 : 1) } })
  gauge('pawl_runs', (set, { runs }) => {
    const named = boundAgents(runs, (row) => row.runs)
    for (const row of runs) set(row.runs, { agent: named(row.agent), status: row.status })
  })
  gauge('pawl_items', (set, { backlog }) => {
    const named = boundAgents(backlog, sizeOf)
    for (const row of backlog) {
      const agent = named(row.agent)
      set(row.due + row.delayed + row.held, { agent, status: 'pending' })
      set(row.inProgress, { agent, status: 'in_progress' })
      set(row.blocked, { agent, status: 'blocked' })
    }
  })
  gauge('pawl_backlog', (set, { backlog }) => {
    const named = boundAgents(backlog, sizeOf)
    for (const row of backlog) {
      const agent = named(row.agent)
      const version = agent === row.agent ? row.agentVersion : 'other'
      for (const [state, n] of [['due', row.due], ['delayed', row.delayed], ['in_progress', row.inProgress], ['blocked', row.blocked], ['held', row.held]] as const) set(n, { agent, version, state })
    }
  })
  gauge('pawl_actions', (set, { actions }) => {
    const named = boundAgents(actions, (row) => row.n)
    for (const row of actions) set(row.n, { agent: named(row.agent), status: row.status })
  })
  gauge('pawl_oldest_due_seconds', (set, { backlog }) => set(secondsOf(backlog.map((row) => row.oldestDueMs))))
  gauge('pawl_actions_unsettled', (set, { actions }) => set(sum(actions.map((row) => row.unsettled))))
  gauge('pawl_actions_in_doubt', (set, { actions }) => set(sum(actions.filter((row) => row.status === 'in_doubt').map((row) => row.n))))
  gauge('pawl_oldest_unsettled_seconds', (set, { actions }) => set(secondsOf(actions.map((row) => row.oldestMs))))
  return { registry, observe }
}

const sizeOf = (row: LedgerFigures['backlog'][number]): number => row.due + row.delayed + row.held + row.inProgress + row.blocked
const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0)
/** 0 where there is none. */
const secondsOf = (ages: readonly (number | null)[]): number => Math.max(0, ...ages.map((ms) => ms ?? 0)) / 1_000
