/**
 * One worker process, started by the supervisor. SIGTERM, or the supervisor's death, hands its items back; SIGKILL is the supervisor's to notice.
 * It never outlives its supervisor: while it starts it holds nothing worth handing back and just ends, later it has the grace of any stop.
 */
import { defaultTimings, Harness, loadConfig, type Timings } from '@pawl/harness'
import { watchProcessGroups } from '@pawl/tools'
import { startTraces } from '@pawl/telemetry'
import { countHere } from './child-figures.ts'
import { connect } from './connect.ts'
import { readWorkerEnv } from './env.ts'
import { armFailpoints } from './failpoints.ts'
import { ForgetfulLedger } from './forgetful-ledger.ts'
import { harnessLog, makeLogger } from './log.ts'

let stopNow: (why: string) => void = () => process.exit(1)
process.on('disconnect', () => stopNow('the supervisor is gone'))

// What is started in a group of its own the supervisor can only end when it knows of it.
watchProcessGroups((pid, isAlive) => process.send?.({ kind: 'group', pid, isAlive }, undefined, undefined, () => {}))

async function main(): Promise<void> {
  const env = readWorkerEnv(process.env)
  const name = env.PAWL_WORKER_NAME ?? 'worker'
  const log = makeLogger(env, name)
  // Before the agents are loaded, so that what they import and trace is traced too.
  const stopTraces = await startTraces({ endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, service: 'pawl-worker', instance: env.PAWL_WORKER_ID ?? String(process.pid) }, log)
  const { config } = await loadConfig(env.PAWL_CONFIG)
  const connections = env.PAWL_FAILPOINTS === undefined ? await connect(env, config, log, name) : await connect(env, config, log, name, (options) => new ForgetfulLedger(options))
  const timings: Timings = { ...defaultTimings, ...(JSON.parse(env.PAWL_TIMINGS ?? '{}') as Partial<Timings>) }
  let running = (): number => 0
  const figures = countHere(() => running())
  const harness = await Harness.start({
    ...connections, observe: figures.observe, agents: config.agents, concurrency: env.PAWL_CONCURRENCY, log: harnessLog(log), roles: ['items', 'splits'], name, timings,
    ...(env.PAWL_WORKER_ID === undefined ? {} : { workerId: env.PAWL_WORKER_ID }),
    ...(env.PAWL_FAILPOINTS !== undefined && connections.ledger instanceof ForgetfulLedger ? { failpoint: armFailpoints(env.PAWL_FAILPOINTS, env.PAWL_FAILPOINTS_SPENT ?? null, connections.ledger) } : {}),
  })
  running = () => harness.running
  // The supervisor asks when it is scraped.
  process.on('message', (asked: { kind?: unknown }) => {
    if (asked.kind === 'figures') void figures.read().then((told) => process.send?.({ kind: 'figures', figures: told }, undefined, undefined, () => {}))
  })
  let isStopping = false
  const stop = async (why: string): Promise<void> => {
    if (isStopping) return
    isStopping = true
    log.info({ why }, 'stopping: items are handed back at their next call')
    // Whoever would kill a process that does not end may be gone.
    setTimeout(() => process.exit(1), timings.stopGraceMs + stopExtraMs).unref()
    await harness.stop(timings.stopGraceMs)
    await connections.close()
    await stopTraces()
    process.exit(0)
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  stopNow = (why) => void stop(why)
  // The supervisor may be gone by now; then `disconnect` begins the stop.
  process.send?.({ kind: 'ready' }, undefined, undefined, () => {})
}

/** For the connections to close after the grace is over. */
const stopExtraMs = 5_000

// What was imported took a while: the supervisor may have gone before anybody listened. Undefined: started by hand, without one.
if (process.connected === false) process.exit(1)
main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
