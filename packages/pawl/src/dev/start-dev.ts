/**
 * Everything on this machine in one process: the embedded Postgres of this folder, the schema, worker processes, the producer and the
 * dashboard, each leaning on the ones before it. All of it listens on loopback only, whatever the environment says about hosts, tokens and users.
 */
import { PawlError } from '@pawl/core'
import { startEmbedded } from '@pawl/embedded'
import { loadConfig } from '@pawl/harness'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { devFolder, removeDevSession, writeDevSession } from '../cli/dev-session.ts'
import { queueEnv } from '../cli/queue-env.ts'
import type { ServiceStack } from '../cli/service-stack.ts'

export interface DevRequest {
  readonly config: string | undefined
  readonly processes: number
  /** 0, or taken by something else: any free port. */
  readonly port: number
  readonly dashboardPort: number
  readonly log: (line: string) => void
  /** A later login link: the first one is in the answer. */
  readonly onLoginLink: (url: string) => void
}

export interface Dev {
  readonly agents: readonly string[]
  readonly queue: 'redis' | 'postgres'
  readonly folder: string
  /** True: the Postgres was left running by a `pawl dev` that was killed. */
  readonly adopted: boolean
  readonly producerUrl: string
  readonly dashboardUrl: string
  readonly loginUrl: string | undefined
  /** Worker processes that are ready now. */
  readonly pids: readonly number[]
}

const closed = ['PAWL_HOST', 'PAWL_PORT', 'PAWL_TOKENS', 'PAWL_DASHBOARD_USERS', 'PAWL_DASHBOARD_URL', 'PAWL_PRODUCER_TOKEN', 'PAWL_PRODUCER_URL', 'PAWL_WORKER_PORT']
const readyWithinMs = 20_000

/** What it started is on `services`, also when it throws. */
export async function startDev(request: DevRequest, services: ServiceStack): Promise<Dev> {
  const { config, path } = await loadConfig(request.config)
  const postgres = await services.add('Postgres', () => startEmbedded({ folder: devFolder(), log: request.log }), (each) => each.release())
  await migrate(postgres.url)
  const queue = queueEnv(config)
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !closed.includes(name))), PAWL_LOG_LEVEL: process.env['PAWL_LOG_LEVEL'] || 'error', ...queue.variables, DATABASE_URL: postgres.url, PAWL_CONFIG: path }
  const [{ startWorkers }, { startProducer }, { startDashboard }] = await Promise.all([import('@pawl/worker'), import('@pawl/producer'), import('@pawl/dashboard')])
  const workers = await services.add('workers', () => startWorkers({ ...env, PAWL_PROCESSES: String(request.processes) }), (each) => each.stop())
  const producer = await services.add('producer', () => onFreePort(request.port, (port) => startProducer({ env: { ...env, PAWL_PORT: String(port) } })), (each) => each.close())
  let isUp = false
  const printLink = (url: string): void => { if (isUp) request.onLoginLink(url) }
  const dashboard = await services.add('dashboard', () => onFreePort(request.dashboardPort, (port) => startDashboard({ ...env, PAWL_PORT: String(port), PAWL_PRODUCER_URL: producer.url }, { printLink })), (each) => each.close())
  isUp = true
  await services.add('session', async () => writeDevSession(postgres.url), async () => removeDevSession())
  for (const until = Date.now() + readyWithinMs; workers.pids.length < request.processes && Date.now() < until;) await new Promise((resolve) => setTimeout(resolve, 50))
  return {
    agents: config.agents.map((agent) => `${agent.name}@${agent.version}`), queue: queue.backend, folder: postgres.folder, adopted: postgres.adopted,
    producerUrl: producer.url, dashboardUrl: dashboard.url, loginUrl: dashboard.loginUrl, pids: workers.pids,
  }
}

async function migrate(url: string): Promise<void> {
  const ledger = new Ledger({ url, name: 'pawl-dev' })
  try {
    await ledger.query('select 1 as one', [], { retryForMs: 10_000 })
    await migrateLedger(ledger)
  } finally {
    await ledger.close()
  }
}

async function onFreePort<T>(port: number, start: (port: number) => Promise<T>): Promise<T> {
  try {
    return await start(port)
  } catch (error) {
    const isTaken = error instanceof PawlError && error.code === 'CANNOT_LISTEN' && (error.cause as { code?: unknown } | undefined)?.code === 'EADDRINUSE'
    if (!isTaken) throw error
    return await start(0)
  }
}
