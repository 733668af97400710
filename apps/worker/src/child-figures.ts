/** A worker process's own registry, told to its supervisor when it asks: Prometheus scrapes a host, not each of its processes. */
import type { Observe } from '@pawl/core'
import { harnessMetrics, registerGauge, registerMetrics } from '@pawl/telemetry'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** As it goes from child to supervisor. */
export type Figures = readonly MetricObjectWithValues<MetricValue<string>>[]

export interface ChildFigures {
  readonly observe: Observe
  read(): Promise<Figures>
}

export function countHere(running: () => number): ChildFigures {
  const registry = new Registry()
  const observe = registerMetrics(registry, harnessMetrics)
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  registerGauge(registry, 'pawl_attempts_running', running)
  registerGauge(registry, 'pawl_worker_resident_bytes', () => process.memoryUsage.rss())
  registerGauge(registry, 'pawl_worker_event_loop_lag_seconds', () => {
    const lag = Math.max(0, delay.percentile(99) / 1e9 - 0.02)
    delay.reset()
    return Number.isFinite(lag) ? lag : 0
  })
  return { observe, read: async () => await registry.getMetricsAsJSON() }
}
