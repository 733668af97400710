/** For whatever runs the producer: alive, ready, measured. */
import { countBacklog, countDoubts, countRuns } from '@pawl/ledger'
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import type { Services } from '../app.ts'
import { documentPlain, type App } from '../route.ts'
import { authenticate, requireScope } from '../tokens.ts'

export interface Metrics {
  readonly registry: Registry
  readonly requests: Counter<'method' | 'route' | 'status'>
}

/** Gauges are read from the ledger at each scrape: the queue holds no more than its window. */
export function makeMetrics({ ledger }: Pick<Services, 'ledger'>): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({ name: 'pawl_http_requests_total', help: 'Requests answered', labelNames: ['method', 'route', 'status'], registers })
  new Gauge({
    name: 'pawl_runs', help: 'Runs by agent and status', labelNames: ['agent', 'status'], registers,
    async collect() {
      this.reset()
      for (const row of await countRuns(ledger)) this.set({ agent: row.agent, status: row.status }, row.runs)
    },
  })
  new Gauge({
    name: 'pawl_backlog', help: 'Items that are not ended, by agent, version and state', labelNames: ['agent', 'version', 'state'], registers,
    async collect() {
      this.reset()
      for (const { agent, agentVersion: version, ...states } of await countBacklog(ledger)) {
        for (const [state, n] of Object.entries(states)) this.set({ agent, version, state }, n)
      }
    },
  })
  const doubt = new Gauge({ name: 'pawl_actions_in_doubt', help: 'Actions that only a person can settle', registers })
  const oldest = new Gauge({ name: 'pawl_oldest_unsettled_seconds', help: 'Age of the oldest action that is started or in doubt', registers })
  new Gauge({
    name: 'pawl_actions_unsettled', help: 'Actions started and not yet settled', registers,
    async collect() {
      const { unsettled, inDoubt, oldestStartedAt } = await countDoubts(ledger)
      this.set(unsettled)
      doubt.set(inDoubt)
      oldest.set(oldestStartedAt === null ? 0 : Math.max(0, (Date.now() - oldestStartedAt.getTime()) / 1_000))
    },
  })
  return { registry, requests }
}

export function addOperationRoutes(app: App, services: Services, metrics: Metrics): void {
  documentPlain(app, '/health', 'Alive: the process answers.', 'application/json')
  documentPlain(app, '/ready', 'Ready: the ledger answers (200), or it does not (503).', 'application/json')
  documentPlain(app, '/metrics', 'Prometheus metrics. With tokens: scope read.', 'text/plain')
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => {
    const isReady = !services.closing.aborted && await services.ledger.query('select 1 as one').then(() => true, () => false)
    return c.json({ status: isReady ? 'ready' : 'not ready' }, isReady ? 200 : 503)
  })
  app.get('/metrics', async (c) => {
    requireScope(authenticate(services.tokens, c.req.header('authorization')), 'read')
    return c.text(await metrics.registry.metrics(), 200, { 'content-type': metrics.registry.contentType })
  })
}
