/** A whole site on sockets: a ledger in a real Postgres, the queue, a producer with two tenants' tokens, a dashboard with three people. */
import { createHash, randomBytes } from 'node:crypto'
import { createClient, type PawlClient } from '@pawl/client'
import { Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { inject } from 'vitest'
import { hashPassword, startDashboard, type RunningDashboard } from '../../../apps/dashboard/src/index.ts'
import { startProducer } from '../../../apps/producer/src/index.ts'
import { freshDatabase } from '../../setup/fixtures.ts'
import { agents } from './agents.ts'
import { Browser, password, textOf } from './browser.ts'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** By what each may do; `dashboard` may speak for people, `foreign` may do everything, in another namespace. */
export interface Tokens { readonly read: string; readonly run: string; readonly operate: string; readonly all: string; readonly dashboard: string; readonly foreign: string }

export interface Site {
  readonly databaseUrl: string
  readonly redisUrl: string | null
  /** Where both apps find their stores. */
  readonly places: NodeJS.ProcessEnv
  readonly ledger: Ledger
  readonly ledgerId: string
  /** The ledger, straight. */
  readonly direct: PawlClient
  readonly producer: string
  readonly tokens: Tokens
  readonly dashboard: RunningDashboard
  readonly dashboardEnv: NodeJS.ProcessEnv
  /** `rita` reads, `ron` runs, `olga` operates. */
  login(name: string): Promise<Browser>
  /** Another dashboard over the same ledger. */
  startDashboard(env: NodeJS.ProcessEnv, printLink?: (url: string) => void): Promise<RunningDashboard>
  close(): Promise<void>
}

const newToken = (): string => randomBytes(24).toString('hex')

export async function openSite(producerEnv: NodeJS.ProcessEnv = {}): Promise<Site> {
  const database = await freshDatabase()
  const redisUrl = inject('redisUrl')
  const ledger = new Ledger({ url: database.url, name: 'security', connections: 2 })
  await migrateLedger(ledger)
  const tokens = { read: newToken(), run: newToken(), operate: newToken(), all: newToken(), dashboard: newToken(), foreign: newToken() }
  const places = { DATABASE_URL: database.url, ...(redisUrl === null ? { PAWL_QUEUE: 'postgres' } : { PAWL_QUEUE: 'redis', REDIS_URL: redisUrl }), PAWL_LOG_LEVEL: 'silent', PAWL_PORT: '0' }
  const producer = await startProducer({ agents, env: {
    ...places, ...producerEnv,
    PAWL_TOKENS: [`reader:read:${sha256(tokens.read)}`, `starter:run:${sha256(tokens.run)}`, `operator:operate:${sha256(tokens.operate)}`, `all:read+run+operate:${sha256(tokens.all)}`, `dashboard:read+run+operate+delegate:${sha256(tokens.dashboard)}`, `foreigner:read+run+operate:${sha256(tokens.foreign)}:elsewhere`].join(','),
  } })
  const hash = await hashPassword(password)
  const dashboardEnv = {
    ...places, PAWL_PRODUCER_URL: producer.url, PAWL_PRODUCER_TOKEN: tokens.dashboard, PAWL_SESSION_SECRET: randomBytes(32).toString('hex'),
    PAWL_DASHBOARD_USERS: `olga:operate:${hash},ron:run:${hash},rita:read:${hash}`,
  }
  const dashboards: RunningDashboard[] = []
  const start: Site['startDashboard'] = async (env, printLink = () => undefined) => {
    const dashboard = await startDashboard({ ...dashboardEnv, ...env }, { printLink })
    dashboards.push(dashboard)
    return dashboard
  }
  const dashboard = await start({})
  return {
    databaseUrl: database.url, redisUrl, places, ledger, ledgerId: (await readIdentity(ledger)).id, direct: createClient({ ledger, agents }),
    producer: producer.url, tokens, dashboard, dashboardEnv, startDashboard: start,
    async login(name) {
      const browser = new Browser(dashboard.url)
      const reply = await browser.login(name)
      if (reply.status !== 303) throw new Error(`${name} could not log in: ${reply.status} ${reply.text}`)
      return browser
    },
    async close() {
      for (const each of dashboards) await each.close()
      await producer.close()
      await ledger.close()
      await database.drop()
    },
  }
}

/** To the producer, as JSON. `body`: text as it is. */
export async function ask(site: Pick<Site, 'producer'>, token: string | undefined, method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(site.producer + path, {
    method, redirect: 'manual', ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  })
  return { status: response.status, headers: response.headers, text: await textOf(response) }
}
