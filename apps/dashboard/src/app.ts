/** The dashboard's HTTP, without a socket: what every request passes, then the API, the board and the pages. */
import type { PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Logger } from 'pino'
import { assets } from './assets.ts'
import { checkCsrf, checkHost, checkOrigin, requireSession, setHeaders, type PageEnv } from './auth/guard.ts'
import { loginRoutes } from './auth/login-routes.ts'
import type { OneTimeLink } from './auth/one-time-link.ts'
import type { SessionRules } from './auth/session.ts'
import { boardRoutes } from './board/board-routes.ts'
import type { Boards } from './board/boards.ts'
import type { DashboardMetrics } from './metrics.ts'
import { problemPage } from './pages/bare-page.ts'
import type { Place } from './place.ts'
import { apiRoutes } from './serve/api-routes.ts'
import { webRoutes } from './serve/web-routes.ts'
import { problemOf } from './problems.ts'

export interface AppParts {
  /** What a person does through it is recorded as theirs. */
  readonly pawlOf: (person: string) => PawlClient
  readonly boards: Boards
  readonly ledgerId: string
  readonly rules: SessionRules
  readonly link: OneTimeLink | undefined
  readonly place: Place
  readonly host: string
  readonly log: Logger
  readonly producer: { readonly url: string; readonly token: string | undefined }
  readonly version: string
  readonly closing: AbortSignal
  readonly isReady: () => Promise<boolean>
  readonly metrics: DashboardMetrics
}

const mostBytes = 2_000_000

export function createApp(parts: AppParts): Hono<PageEnv> {
  const { pawlOf, boards, ledgerId, rules, link, place, host, log } = parts
  const { base } = place
  const app = new Hono<PageEnv>()

  app.use(parts.metrics.count)
  app.use(setHeaders())
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => ((await parts.isReady()) ? c.json({ status: 'ready' }) : c.json({ status: 'not ready' }, 503)))
  app.get('/metrics', parts.metrics.tell)
  app.use(checkHost(place, host))
  app.use(checkOrigin(place))
  app.use(bodyLimit({ maxSize: mostBytes, onError: () => { throw new PawlError('TOO_BIG', 'A request through the dashboard may hold 2 MB. Send bigger ones to the producer’s own HTTP API.') } }))
  app.get('/static/:name', (c) => {
    const asset = assets.find(c.req.param('name'))
    if (asset === undefined) return c.text('There is no such file.', 404)
    return c.body(new Uint8Array(asset.content), 200, { 'content-type': asset.type, 'cache-control': 'public, max-age=31536000, immutable' })
  })
  const login = loginRoutes({ rules, place, link, log })
  app.on(['GET', 'POST'], '/login', (c) => login.fetch(c.req.raw, c.env))
  app.use(requireSession(rules, place))
  app.use(checkCsrf())
  app.route('/', login)
  app.get('/queues', (c) => c.redirect(`${base}/queues/`, 302))
  app.route('/queues', boardRoutes({ boards, pawlOf, ledgerId, base, log }))
  app.route('/api', apiRoutes({ producerUrl: parts.producer.url, token: parts.producer.token, log, closing: parts.closing }))
  app.route('/', webRoutes({ base, version: parts.version }))
  app.notFound(() => { throw new PawlError('NOT_FOUND', `There is no such page. Begin at ${base}/.`) })

  app.onError((error, c) => {
    const { status, title, sentence, code } = problemOf(error, log)
    // The rest of it is still on its way: whoever sent it must not send the next request after it.
    if (code === 'TOO_BIG') c.header('connection', 'close')
    const wantsPage = (c.req.header('accept') ?? '').includes('text/html') && !c.req.path.startsWith('/api/')
    if (!wantsPage) return c.json({ type: 'about:blank', title, status, code, detail: sentence }, status, { 'content-type': 'application/problem+json' })
    return c.html(problemPage(base, title, sentence, code), status)
  })
  return app
}
