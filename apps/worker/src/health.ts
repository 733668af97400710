/**
 * `/health` (the supervisor lives), `/ready` (every process is ready, ledger and queue answer), `/metrics` (the supervisor's own and its processes').
 * Where others can reach it, metrics are told to those who have the token only, and without one to nobody.
 */
import { serve, type ServerType } from '@hono/node-server'
import type { Ledger } from '@pawl/ledger'
import type { Queue } from '@pawl/queue'
import { registerGauge, registerMetrics } from '@pawl/telemetry'
import { Hono } from 'hono'
import { createHash, timingSafeEqual } from 'node:crypto'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Supervisor } from './supervisor.ts'

type Fleet = Pick<Supervisor, 'pids' | 'deaths' | 'isComplete' | 'metrics'>

/** Shorter than what probes wait. */
const answerMs = 2_000

const answers = (asked: Promise<unknown>): Promise<boolean> =>
  Promise.race([asked.then(() => true, () => false), new Promise<false>((resolve) => setTimeout(() => resolve(false), answerMs).unref())])

export interface HealthOptions {
  readonly port: number
  readonly host: string
  readonly metricsToken?: string | undefined
}

const loopback = new Set(['127.0.0.1', 'localhost', '::1'])
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export function serveHealth({ port, host, metricsToken }: HealthOptions, supervisor: Fleet, stores: { readonly ledger: Ledger; readonly queue: Queue }): Promise<{ url: string; close(): Promise<void> }> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  registerGauge(registry, 'pawl_worker_processes', () => supervisor.pids.length)
  const observe = registerMetrics(registry, ['pawl_worker_deaths_total'])
  let deathsTold = 0
  const mayRead = (authorization: string | undefined): boolean => (metricsToken === undefined
    ? loopback.has(host)
    : timingSafeEqual(digest(metricsToken), digest(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '')))
  const app = new Hono()
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => {
    const [ledger, queue] = await Promise.all([answers(stores.ledger.query('select 1 as one')), answers(stores.queue.ready())])
    const isReady = ledger && queue && supervisor.isComplete
    return c.json({ status: isReady ? 'ready' : 'not ready', ledger, queue, processes: supervisor.pids.length }, isReady ? 200 : 503)
  })
  app.get('/metrics', async (c) => {
    if (!mayRead(c.req.header('authorization'))) return c.text('Send "Authorization: Bearer <PAWL_METRICS_TOKEN>".\n', 401, { 'www-authenticate': 'Bearer' })
    observe('pawl_worker_deaths_total', supervisor.deaths - deathsTold)
    deathsTold = supervisor.deaths
    return c.text(`${await registry.metrics()}${await supervisor.metrics()}`, 200, { 'content-type': registry.contentType })
  })
  return new Promise((resolve) => {
    const server: ServerType = serve({ fetch: app.fetch, port, hostname: host }, (address) => {
      resolve({ url: `http://${host}:${address.port}`, close: () => new Promise((done) => { server.close(() => done()) }) })
    })
  })
}
