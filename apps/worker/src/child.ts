/** One worker process, started by the supervisor. SIGTERM, or the supervisor's death, hands its items back; SIGKILL is the supervisor's to notice. */
import { defaultTimings, Harness, loadConfig, type Timings } from '@pawl/harness'
import { connect } from './connect.ts'
import { readWorkerEnv } from './env.ts'
import { harnessLog, makeLogger } from './log.ts'

async function main(): Promise<void> {
  const env = readWorkerEnv(process.env)
  const name = env.PAWL_WORKER_NAME ?? 'worker'
  const log = makeLogger(env, name)
  const { config } = await loadConfig(env.PAWL_CONFIG)
  const connections = await connect(env, config, log, name)
  const timings: Timings = { ...defaultTimings, ...(JSON.parse(env.PAWL_TIMINGS ?? '{}') as Partial<Timings>) }
  const harness = await Harness.start({
    ...connections, agents: config.agents, concurrency: env.PAWL_CONCURRENCY, log: harnessLog(log), roles: ['items', 'splits'], name, timings,
    ...(env.PAWL_WORKER_ID === undefined ? {} : { workerId: env.PAWL_WORKER_ID }),
  })
  let isStopping = false
  const stop = async (why: string): Promise<void> => {
    if (isStopping) return
    isStopping = true
    log.info({ why }, 'stopping: items are handed back at their next call')
    await harness.stop(timings.stopGraceMs)
    await connections.close()
    process.exit(0)
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  process.on('disconnect', () => void stop('the supervisor is gone'))
  // The supervisor may be gone by now; then `disconnect` has begun the stop already.
  process.send?.({ kind: 'ready' }, undefined, undefined, () => {})
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
