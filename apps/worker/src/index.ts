/** The fleet of one host: a supervisor, its worker processes, and a health endpoint. */
import { limits } from '@pawl/core'
import { loadConfig } from '@pawl/harness'
import { refuseEviction } from '@pawl/queue'
import { startTraces } from '@pawl/telemetry'
import { connect } from './connect.ts'
import { readWorkerEnv } from './env.ts'
import { serveHealth } from './health.ts'
import { makeLogger } from './log.ts'
import { Supervisor, type SupervisorOptions } from './supervisor.ts'

export interface RunningWorkers {
  /** Pids of the ready worker processes. */
  readonly pids: readonly number[]
  readonly healthUrl: string | undefined
  stop(): Promise<void>
}

/** Starts `PAWL_PROCESSES` worker processes for the config at `PAWL_CONFIG`. Throws a `PawlError` when a store or the schema is not right. */
export async function startWorkers(variables: NodeJS.ProcessEnv, options: Pick<SupervisorOptions, 'onLine'> = {}): Promise<RunningWorkers> {
  const env = readWorkerEnv(variables)
  const log = makeLogger(env, 'supervisor')
  const stopTraces = await startTraces({ endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, service: 'pawl-supervisor', instance: String(process.pid) }, log)
  const { config, path } = await loadConfig(env.PAWL_CONFIG)
  const connections = await connect(env, config, log, 'pawl-supervisor')
  try {
    await refuseEviction(connections.queue, { url: connections.queueUrl, isAllowed: env.PAWL_ALLOW_EVICTION, warn: (sentence) => log.warn(sentence) })
  } catch (error) {
    await connections.close()
    await stopTraces()
    throw error
  }
  const supervisor = new Supervisor({ connections, processes: env.PAWL_PROCESSES, log, env: { ...variables, PAWL_CONFIG: path }, graceMs: limits.stopGraceMs, onLine: options.onLine })
  supervisor.start()
  const health = env.PAWL_WORKER_PORT === undefined ? undefined : await serveHealth({ port: env.PAWL_WORKER_PORT, host: env.PAWL_HOST, metricsToken: env.PAWL_METRICS_TOKEN }, supervisor, connections)
  if (health !== undefined) log.info({ url: health.url }, 'health and metrics are told here')
  return {
    get pids() { return supervisor.pids },
    healthUrl: health?.url,
    async stop() {
      await supervisor.stop()
      await health?.close()
      await connections.close()
      await stopTraces()
    },
  }
}
