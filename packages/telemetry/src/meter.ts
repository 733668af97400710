/** The harness's figures as Prometheus metrics, by the table in core. */
import { METRICS, type MetricDefinition, type MetricName, type Observe } from '@pawl/core'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** What a harness counts. */
export const harnessMetrics = [
  'pawl_attempts_total', 'pawl_attempt_seconds', 'pawl_actions_total', 'pawl_action_seconds', 'pawl_settled_total', 'pawl_lease_losses_total', 'pawl_turns_total', 'pawl_tokens_total',
  'pawl_dispatched_total', 'pawl_dispatch_lag_seconds', 'pawl_flush_items', 'pawl_flush_seconds',
] as const satisfies readonly MetricName[]

export function registerMetrics(registry: Registry, names: readonly MetricName[]): Observe {
  const registers = [registry]
  const known = new Map<MetricName, Counter | Histogram | Gauge>()
  for (const name of names) {
    const { type, help, labels, buckets }: MetricDefinition = METRICS[name]
    const about = { name, help, labelNames: [...labels], registers }
    if (type === 'counter') known.set(name, new Counter(about))
    else if (type === 'gauge') known.set(name, new Gauge(about))
    else known.set(name, new Histogram({ ...about, ...(buckets === undefined ? {} : { buckets: [...buckets] }) }))
  }
  return (name, value, labels = {}) => {
    const metric = known.get(name)
    if (metric instanceof Counter) metric.inc(labels, value)
    else if (metric instanceof Histogram) metric.observe(labels, value)
    else metric?.set(labels, value)
  }
}

/** A gauge that is read when it is asked for. */
export function registerGauge(registry: Registry, name: MetricName, read: () => number): void {
  const { help, aggregate }: MetricDefinition = METRICS[name]
  new Gauge({ name, help, registers: [registry], aggregator: aggregate ?? 'sum', collect() { this.set(read()) } })
}
