/** For whatever runs the producer: alive, ready, measured, and how many workers it takes. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { addRoute, documentPlain, type App } from '../route.ts'
import { authenticate, requireScope } from '../tokens.ts'

const part = z.object({
  due: z.number().int(), delayed: z.number().int(), inProgress: z.number().int(), blocked: z.number().int(), held: z.number().int(),
  work: z.number().int(), oldestDueMs: z.number().nullable(),
})
export const backlogSchema = part.extend({ agents: z.array(part.extend({ agent: z.string(), version: z.string() })) })

export function addOperationRoutes(app: App, services: Services): void {
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
    c.set('route', '/metrics')
    const { registry } = services.metrics
    return c.text(await registry.metrics(), 200, { 'content-type': registry.contentType })
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/backlog', scope: 'read',
    summary: 'How much waits for workers, counted in the ledger. `work` (due and in progress) is what a scaler divides by the slots of one worker; narrow it to what a fleet serves with agent and version.',
    query: z.strictObject({ agent: z.string().optional(), version: z.string().optional() }),
    answer: { description: 'The backlog, some seconds old at most.', schema: backlogSchema },
    handle: async ({ c, query }) => {
      const figures = await services.figures()
      if (figures === undefined) throw new PawlError('LEDGER_UNREACHABLE', 'The ledger did not answer in time, so the backlog is not known. Scale nothing by this; ask again.', 'retry')
      const rows = figures.backlog.filter((row) => (query.agent ?? row.agent) === row.agent && (query.version ?? row.agentVersion) === row.agentVersion)
      const agents = rows.map(({ agent, agentVersion: version, ...counts }) => ({ agent, version, ...counts, work: counts.due + counts.inProgress }))
      const sum = (of: (row: (typeof agents)[number]) => number): number => agents.reduce((total, row) => total + of(row), 0)
      const oldest = Math.max(-1, ...agents.map((row) => row.oldestDueMs ?? -1))
      return c.json({
        due: sum((row) => row.due), delayed: sum((row) => row.delayed), inProgress: sum((row) => row.inProgress), blocked: sum((row) => row.blocked), held: sum((row) => row.held),
        work: sum((row) => row.work), oldestDueMs: oldest < 0 ? null : oldest, agents,
      })
    },
  })
}
