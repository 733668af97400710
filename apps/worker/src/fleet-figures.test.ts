import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { registerGauge, registerMetrics } from '@pawl/telemetry'
import type { Figures } from './child-figures.ts'
import { FleetFigures } from './fleet-figures.ts'

/** A child that counted so much. */
async function child(attempts: number, flushMs: number, lag: number): Promise<Figures> {
  const registry = new Registry()
  const observe = registerMetrics(registry, ['pawl_attempts_total', 'pawl_flush_seconds'])
  observe('pawl_attempts_total', attempts, { agent: 'a', kind: 'work', verdict: 'done' })
  observe('pawl_flush_seconds', flushMs / 1_000)
  registerGauge(registry, 'pawl_worker_resident_bytes', () => 100)
  registerGauge(registry, 'pawl_worker_event_loop_lag_seconds', () => lag)
  // As it comes over the channel between processes.
  return JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) as Figures
}

const valueIn = (text: string, line: string): number => Number(text.split('\n').find((one) => one.startsWith(`${line} `))?.split(' ')[1])
const attempts = 'pawl_attempts_total{agent="a",kind="work",verdict="done"}'

test('processes are told as one: counts and memory together, of the lags the longest', async () => {
  const figures = new FleetFigures()
  figures.take('one', await child(3, 20, 0.5))
  figures.take('two', await child(4, 2_000, 0.1))
  const text = await figures.text()
  expect([valueIn(text, attempts), valueIn(text, 'pawl_flush_seconds_count'), valueIn(text, 'pawl_flush_seconds_bucket{le="0.025"}'), valueIn(text, 'pawl_worker_resident_bytes'), valueIn(text, 'pawl_worker_event_loop_lag_seconds')]).toEqual([7, 2, 1, 200, 0.5])
})

test('what a dead process had counted stays counted, and what it held is gone; however many die', async () => {
  const figures = new FleetFigures()
  for (const [i, name] of ['one', 'two', 'three'].entries()) {
    figures.take(name, await child(10, 20, 0.5))
    const before = valueIn(await figures.text(), attempts)
    expect(before).toBe(10 * (i + 1))
    await figures.end(name)
    const text = await figures.text()
    expect(valueIn(text, attempts)).toBe(before)
    expect(valueIn(text, 'pawl_flush_seconds_count')).toBe(i + 1)
    expect(text).not.toMatch(/^pawl_worker_resident_bytes \d/m)
  }
  await figures.end('never there')
})
