/** `/health` (the supervisor lives), `/ready` (every process is ready, ledger and queue answer), `/metrics`. Loopback unless a host is given. */
import { serve, type ServerType } from '@hono/node-server'
import type { Ledger } from '@pawl/ledger'
import type { Queue } from '@pawl/queue'
import { Hono } from 'hono'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Supervisor } from './supervisor.ts'

type Fleet = Pick<Supervisor, 'pids' | 'deaths' | 'isComplete'>

/** Shorter than what probes wait. */
const answerMs = 2_000

const answers = (asked: Promise<unknown>): Promise<boolean> =>
  Promise.race([asked.then(() => true, () => false), new Promise<false>((resolve) => setTimeout(() => resolve(false), answerMs).unref())])

export function serveHealth(port: number, host: string, supervisor: Fleet, stores: { readonly ledger: Ledger; readonly queue: Queue }): Promise<{ url: string; close(): Promise<void> }> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, read: () => number) => new Gauge({ name, help, registers: [registry], collect() { this.set(read()) } })
  gauge('pawl_worker_processes', 'Worker processes that are ready', () => supervisor.pids.length)
  gauge('pawl_worker_deaths', 'Worker processes that died unasked', () => supervisor.deaths)
  const app = new Hono()
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => {
    const [ledger, queue] = await Promise.all([answers(stores.ledger.query('select 1 as one')), answers(stores.queue.ready())])
    const isReady = ledger && queue && supervisor.isComplete
    return c.json({ status: isReady ? 'ready' : 'not ready', ledger, queue, processes: supervisor.pids.length }, isReady ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }))
  return new Promise((resolve) => {
    const server: ServerType = serve({ fetch: app.fetch, port, hostname: host }, (address) => {
      resolve({ url: `http://${host}:${address.port}`, close: () => new Promise((done) => { server.close(() => done()) }) })
    })
  })
}
