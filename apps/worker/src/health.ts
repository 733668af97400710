/** `/health` (the supervisor lives), `/ready` (every process is ready and the ledger answers), `/metrics`. Loopback unless a host is given. */
import { serve, type ServerType } from '@hono/node-server'
import type { Ledger } from '@pawl/ledger'
import { Hono } from 'hono'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Supervisor } from './supervisor.ts'

export function serveHealth(port: number, host: string, supervisor: Supervisor, ledger: Ledger): Promise<{ url: string; close(): Promise<void> }> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, read: () => number) => new Gauge({ name, help, registers: [registry], collect() { this.set(read()) } })
  gauge('pawl_worker_processes', 'Worker processes that are ready', () => supervisor.pids.length)
  gauge('pawl_worker_deaths', 'Worker processes that died unasked', () => supervisor.deaths)
  const app = new Hono()
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => {
    const answers = await ledger.query('select 1 as one').then(() => true, () => false)
    const isReady = answers && supervisor.isComplete
    return c.json({ status: isReady ? 'ready' : 'not ready', ledger: answers, processes: supervisor.pids.length }, isReady ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }))
  return new Promise((resolve) => {
    const server: ServerType = serve({ fetch: app.fetch, port, hostname: host }, (address) => {
      resolve({ url: `http://${host}:${address.port}`, close: () => new Promise((done) => { server.close(() => done()) }) })
    })
  })
}
