/**
 * Everything on this machine in one: the embedded Postgres of this folder, the schema, worker processes, the producer and the dashboard, each
 * leaning on the ones before it. All of it listens on loopback only, whatever the environment says about hosts, tokens and users.
 */
import { PawlError } from '@pawl/core'
import { startEmbedded } from '@pawl/embedded'
import { loadConfig } from '@pawl/harness'
import { Ledger, migrateLedger } from '@pawl/ledger'
import type { RunningWorkers } from '@pawl/worker'
import { devFolder, removeDevSession, writeDevSession } from '../cli/dev-session.ts'
import { queueEnv } from '../cli/queue-env.ts'
import type { ServiceStack } from '../cli/service-stack.ts'
import { loadAgents, startProducerProcess, type ProducerProcess } from './children.ts'
import { moduleFiles } from './module-files.ts'
import { Replaceable } from './replaceable.ts'
import { contentsOf } from './watch-files.ts'

export interface DevRequest {
  readonly config: string | undefined
  readonly processes: number
  /** 0, or taken by something else: any free port. */
  readonly port: number
  readonly dashboardPort: number
  readonly log: (line: string) => void
  /** What agents print, and what the services log; undefined: where this process prints. */
  readonly onLine: ((line: string) => void) | undefined
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

export interface RunningDev extends Dev {
  readonly configPath: string
  /** What the files of the config held when it was loaded, which was a while ago: what changed since has to be loaded anew. */
  readonly madeOf: ReadonlyMap<string, string>
  readonly databaseUrl: string
  /** Loads the config anew: workers and producer are replaced by new ones. A config that does not load changes nothing. Resolves to what it names, or why not. */
  reload(): Promise<{ readonly agents: readonly string[] } | { readonly error: string }>
}

const closed = ['PAWL_HOST', 'PAWL_PORT', 'PAWL_TOKENS', 'PAWL_DASHBOARD_USERS', 'PAWL_DASHBOARD_URL', 'PAWL_PRODUCER_TOKEN', 'PAWL_PRODUCER_URL', 'PAWL_WORKER_PORT']
const readyWithinMs = 20_000

/** What it started is on `services`, also when it throws. */
export async function startDev(request: DevRequest, services: ServiceStack): Promise<RunningDev> {
  const { config, path } = await loadConfig(request.config)
  const madeOf = contentsOf(moduleFiles(path))
  const postgres = await services.add('Postgres', () => startEmbedded({ folder: devFolder(), log: request.log }), (each) => each.release())
  await migrate(postgres.url)
  const queue = queueEnv(config)
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !closed.includes(name))), PAWL_LOG_LEVEL: process.env['PAWL_LOG_LEVEL'] || 'error', ...queue.variables, DATABASE_URL: postgres.url, PAWL_CONFIG: path }
  const [{ startWorkers }, { startDashboard }] = await Promise.all([import('@pawl/worker'), import('@pawl/dashboard')])
  const workers = await services.add('workers', () => Replaceable.start<RunningWorkers>(() => startWorkers({ ...env, PAWL_PROCESSES: String(request.processes) }, { onLine: request.onLine }), (each) => each.stop()), (each) => each.stop())
  const onDeath = (why: string): void => { request.log(`the producer ended by itself (${why}); save a file of the config to start it again`) }
  const producer = await services.add('producer', () => Replaceable.start<ProducerProcess>((before) => (before === undefined
    ? onFreePort(request.port, (port) => startProducerProcess(port, env, onDeath, request.onLine))
    : startProducerProcess(Number(new URL(before.url).port), env, onDeath, request.onLine)), (each) => each.stop()), (each) => each.stop())
  let isUp = false
  const printLink = (url: string): void => { if (isUp) request.onLoginLink(url) }
  const dashboard = await services.add('dashboard', () => onFreePort(request.dashboardPort, (port) => startDashboard({ ...env, PAWL_PORT: String(port), PAWL_PRODUCER_URL: producer.current.url }, { printLink })), (each) => each.close())
  isUp = true
  await services.add('session', async () => writeDevSession(postgres.url), async () => removeDevSession())
  await ready(() => workers.current.pids.length >= request.processes)
  return {
    agents: config.agents.map((agent) => `${agent.name}@${agent.version}`), queue: queue.backend, folder: postgres.folder, adopted: postgres.adopted,
    producerUrl: producer.current.url, dashboardUrl: dashboard.url, loginUrl: dashboard.loginUrl, get pids() { return workers.current.pids },
    configPath: path, madeOf, databaseUrl: postgres.url,
    async reload() {
      const loaded = await loadAgents(path, env)
      if ('error' in loaded) return loaded
      await Promise.all([workers.replace(), producer.replace()])
      await ready(() => workers.current.pids.length >= request.processes)
      return loaded
    },
  }
}

/** Waits until it is so, or has had its time: who looks on sees how many are there. */
async function ready(isSo: () => boolean): Promise<void> {
  for (const until = Date.now() + readyWithinMs; !isSo() && Date.now() < until;) await new Promise((resolve) => setTimeout(resolve, 50))
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
    if (!(error instanceof PawlError && error.code === 'CANNOT_LISTEN' && error.message.includes('EADDRINUSE'))) throw error
    return await start(0)
  }
}
