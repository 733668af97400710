/** The producer's HTTP, without a socket: who may ask, what is counted, how a refusal looks, and the routes. */
import { OpenAPIHono } from '@hono/zod-openapi'
import type { AnyAgentContract, QueueLoad } from '@pawl/client'
import { PawlError } from '@pawl/core'
import type { Ledger } from '@pawl/ledger'
import type { Logger } from 'pino'
import { isLoopback } from './env.ts'
import type { LedgerFigures } from './ledger-figures.ts'
import type { Metrics } from './metrics.ts'
import { problemOf, problemResponse } from './problems.ts'
import { drain } from './read-json.ts'
import type { App, AppEnv } from './route.ts'
import { addBulkRoutes } from './routes/bulk.ts'
import { addDocRoutes } from './routes/docs.ts'
import { addEventRoutes } from './routes/events.ts'
import { addExportRoutes } from './routes/export.ts'
import { addLookRoutes } from './routes/looks.ts'
import { addOperationRoutes } from './routes/operations.ts'
import { addRunRoutes } from './routes/runs.ts'
import { addVerbRoutes } from './routes/verbs.ts'
import type { Token } from './tokens.ts'

export interface Services {
  readonly ledger: Ledger
  readonly agents: readonly AnyAgentContract[]
  readonly tokens: readonly Token[]
  readonly log: Logger
  readonly dispatch: (runId: string) => Promise<void>
  readonly onDispatchError: (error: unknown, runId: string) => void
  readonly streamAliveMs: number | undefined
  /** Told of each new bulk operation. */
  readonly onBulk: (bulkId: string) => void
  readonly queues: () => Promise<readonly QueueLoad[]>
  readonly metrics: Metrics
  readonly figures: () => Promise<LedgerFigures | undefined>
  /** Aborts when the producer stops: event streams end. */
  readonly closing: AbortSignal
}

export function createApp(services: Services): App {
  const app = new OpenAPIHono<AppEnv>()
  const { observe } = services.metrics
  app.use(async (c, next) => {
    if (services.tokens.length === 0) refuseForeigners(c.req.header('host'), c.req.header('origin'))
    await next()
    // Hono runs the GET and drops its body; a stream that is dropped, and not ended, goes on for nobody.
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
    observe('pawl_http_requests_total', 1, { method: c.req.method, route: c.get('route') ?? 'other', status: String(c.res.status) })
    c.header('x-content-type-options', 'nosniff')
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
  })
  app.onError(async (error, c) => {
    const answer = problemResponse(problemOf(error, services.log))
    if (!await drain(c.env.incoming)) answer.headers.set('connection', 'close')
    return answer
  })
  app.notFound((c) => problemResponse(problemOf(new PawlError('NOT_FOUND', `There is no ${c.req.method} ${c.req.path.slice(0, 200)}. The API is described at /docs.`), services.log)))
  addOperationRoutes(app, services)
  // Before the routes of one run: "counts" is no run's id.
  addLookRoutes(app, services)
  addRunRoutes(app, services)
  addEventRoutes(app, services)
  addVerbRoutes(app, services)
  addBulkRoutes(app, services)
  addExportRoutes(app, services)
  addDocRoutes(app)
  return app
}

/** Without tokens the loopback address is the only guard, and a page in a browser of this machine could pass it: by its own form, or by a name that points here. */
function refuseForeigners(host: string | undefined, origin: string | undefined): void {
  const name = nameOf(`http://${host ?? ''}`)
  if (name === undefined || !isLoopback(name)) throw new PawlError('FOREIGN_ORIGIN', 'Without PAWL_TOKENS only requests to 127.0.0.1 or localhost are taken. Use that address, or set tokens.')
  if (origin !== undefined && origin !== `http://${host}`) throw new PawlError('FOREIGN_ORIGIN', 'Without PAWL_TOKENS requests from other web pages are refused. Set tokens to call from a page.')
}

function nameOf(url: string): string | undefined {
  try {
    return new URL(url).hostname
  } catch {
    return undefined
  }
}
