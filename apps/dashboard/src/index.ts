/** The operators' window: Pawl's pages over the producer's HTTP, and Bull Board over the queue, behind one login. */
import { createAdaptorServer } from '@hono/node-server'
import { createClient } from '@pawl/client'
import { logOptions, PawlError } from '@pawl/core'
import { Ledger, readIdentity } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import pino, { type Logger } from 'pino'
import { z } from 'zod'
import { createApp } from './app.ts'
import { EndedSessions } from './auth/ended-sessions.ts'
import { OneTimeLink } from './auth/one-time-link.ts'
import { createSeal } from './auth/seal.ts'
import { openBoards } from './board/boards.ts'
import { readDashboardEnv, type DashboardEnv } from './env.ts'
import { makeMetrics } from './metrics.ts'
import { placeOf, withoutBase } from './place.ts'

export { hashPassword } from './auth/password.ts'

export interface DashboardOptions {
  /** Shows the one-time login link where only the dashboard's owner looks. Default: a line on stderr. */
  readonly printLink?: (url: string) => void
}

export interface RunningDashboard {
  /** Where it listens; behind a proxy people use `PAWL_DASHBOARD_URL`. */
  readonly url: string
  /** Good for one login. Undefined where there are users. */
  readonly loginUrl: string | undefined
  close(): Promise<void>
}

const stopGraceMs = 3_000
/** Beside `src/` and beside `dist/` alike. */
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))

/** @param variables those of `.env.example`. Throws a `PawlError` when the environment, a store or the port is not right; a producer that is away is no reason: the pages say so. */
export async function startDashboard(variables: NodeJS.ProcessEnv, options: DashboardOptions = {}): Promise<RunningDashboard> {
  const env = readDashboardEnv(variables)
  const log = pino(logOptions({ level: env.PAWL_LOG_LEVEL, name: 'dashboard' }), pino.destination(2))
  const { queue, ledgerId } = await connect(env, log)
  const place = placeOf(env.PAWL_DASHBOARD_URL)
  const boards = await openBoards({ queue, base: place.base, log })
  const pawlOf = (person: string) => createClient({ url: env.PAWL_PRODUCER_URL, token: env.PAWL_PRODUCER_TOKEN, timeoutMs: 15_000, headers: { 'pawl-actor': person } })
  const server = createAdaptorServer({ fetch: (request, bindings) => app.fetch(withoutBase(request, place.base), bindings), serverOptions: { requestTimeout: 30_000, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 } }) as Server
  const closing = new AbortController()
  const close = async (): Promise<void> => {
    closing.abort()
    await stopListening(server)
    await boards.close()
    await queue.close()
  }
  let port: number
  try {
    port = await listen(server, env)
  } catch (error) {
    await close()
    throw error
  }
  const url = `http://${env.PAWL_HOST.includes(':') ? `[${env.PAWL_HOST}]` : env.PAWL_HOST}:${port}`
  const link = env.PAWL_DASHBOARD_USERS.length > 0 ? undefined : new OneTimeLink(`${place.origin ?? url}${place.base}/login`, options.printLink ?? printOnTerminal)
  const app = createApp({
    pawlOf, boards, ledgerId, link, place, host: env.PAWL_HOST, log, version, closing: closing.signal,
    producer: { url: env.PAWL_PRODUCER_URL, token: env.PAWL_PRODUCER_TOKEN },
    rules: { seal: createSeal(env.PAWL_SESSION_SECRET ?? randomBytes(32).toString('hex')), users: env.PAWL_DASHBOARD_USERS, ended: new EndedSessions(), isSecure: place.isSecure, cookieName: `pawl_${port}` },
    metrics: makeMetrics(env.PAWL_METRICS_TOKEN),
    isReady: () => queue.names().then(() => true, () => false),
  })
  log.info({ url, users: env.PAWL_DASHBOARD_USERS.length, queue: queue.backend }, 'listening')
  return { url, loginUrl: link?.issue(), close }
}

/** The ledger tells its id once, which names the queues; from then on only the board looks at a store. */
async function connect(env: DashboardEnv, log: Logger): Promise<{ queue: Queue; ledgerId: string }> {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = env
  if (databaseUrl === undefined) throw new PawlError('NO_DATABASE', 'DATABASE_URL is not set: it tells which ledger’s queues to show. Set it, or use "pawl dev", which brings its own Postgres.', 'crash')
  const backend = env.PAWL_QUEUE ?? (redisUrl === undefined ? 'postgres' : 'redis')
  const queueUrl = backend === 'redis' ? redisUrl : databaseUrl
  if (queueUrl === undefined) throw new PawlError('NO_REDIS', 'The queue is redis, but REDIS_URL is not set. Set it, or set PAWL_QUEUE=postgres.', 'crash')
  const ledger = new Ledger({ url: databaseUrl, name: 'pawl-dashboard', connections: 1 })
  const { id } = await readIdentity(ledger).finally(() => ledger.close())
  const queue = connectQueue({ backend, url: queueUrl, ledgerId: id, onError: (error, where) => log.warn({ where }, `queue: ${error.message}`) })
  try {
    await queue.ready()
  } catch (error) {
    await queue.close()
    throw error
  }
  return { queue, ledgerId: id }
}

function printOnTerminal(url: string): void {
  process.stderr.write(`\nOpen the dashboard (this link works once):\n  ${url}\n\n`)
}

function listen(server: Server, { PAWL_HOST: host, PAWL_PORT: port }: DashboardEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(new PawlError('CANNOT_LISTEN',
      `The dashboard cannot listen on ${host}:${port} (${cause.code ?? cause.message}). ${cause.code === 'EADDRINUSE' ? 'Something else has the port: stop it, or set PAWL_PORT.' : 'Check PAWL_HOST and PAWL_PORT.'}`, 'crash', {}, { cause })))
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => { server.close(() => resolve()) })
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), stopGraceMs)
  await closed
  clearTimeout(timer)
}
