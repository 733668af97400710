/** The fleet of one host: a supervisor, its worker processes, and a health endpoint. */
import { limits } from '@pawl/core'
import { loadConfig } from '@pawl/harness'
import { connect } from './connect.ts'
import { readWorkerEnv } from './env.ts'
import { serveHealth } from './health.ts'
import { makeLogger } from './log.ts'
import { Supervisor } from './supervisor.ts'

export interface RunningWorkers {
  /** Pids of the ready worker processes. */
  readonly pids: readonly number[]
  readonly healthUrl: string | undefined
  stop(): Promise<void>
}

/** Starts `PAWL_PROCESSES` worker processes for the config at `PAWL_CONFIG`. Throws a `PawlError` when a store or the schema is not right. */
export async function startWorkers(variables: NodeJS.ProcessEnv): Promise<RunningWorkers> {
  const env = readWorkerEnv(variables)
  const log = makeLogger(env, 'supervisor')
  const { config, path } = await loadConfig(env.PAWL_CONFIG)
  const connections = await connect(env, config, log, 'pawl-supervisor')
  const supervisor = new Supervisor({ connections, processes: env.PAWL_PROCESSES, log, env: { ...variables, PAWL_CONFIG: path }, graceMs: limits.stopGraceMs })
  supervisor.start()
  const health = env.PAWL_WORKER_PORT === undefined ? undefined : await serveHealth(env.PAWL_WORKER_PORT, '127.0.0.1', supervisor, connections)
  return {
    get pids() { return supervisor.pids },
    healthUrl: health?.url,
    async stop() {
      await supervisor.stop()
      await health?.close()
      await connections.close()
    },
  }
}
