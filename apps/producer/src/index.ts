/** The producer: accepts runs over HTTP, rings for their items, and is what pages and commands talk to. */
import { createAdaptorServer } from '@hono/node-server'
import { logOptions, PawlError } from '@pawl/core'
import { dispatchRun, loadConfig, type AnyAgent } from '@pawl/harness'
import { startTraces } from '@pawl/telemetry'
import type { Server } from 'node:http'
import pino from 'pino'
import { createApp } from './app.ts'
import { startBulkWork } from './bulk-work.ts'
import { connect } from './connect.ts'
import { countQueues } from './count-queues.ts'
import { isLoopback, readProducerEnv } from './env.ts'
import { keepFigures } from './ledger-figures.ts'
import { makeMetrics } from './metrics.ts'
import { startSplitting } from './split-work.ts'

export interface ProducerOptions {
  /** The variables of `.env.example`. */
  readonly env: NodeJS.ProcessEnv
  /** Default: those of the config that `PAWL_CONFIG` names. */
  readonly agents?: readonly AnyAgent[]
  /** A stream of items silent for this long counts as dead. Default 10 s. */
  readonly streamAliveMs?: number
}

export interface RunningProducer {
  readonly url: string
  close(): Promise<void>
}

const stopGraceMs = 5_000

/** Throws a `PawlError` when the environment, a store, the schema or the port is not right. */
export async function startProducer(options: ProducerOptions): Promise<RunningProducer> {
  const env = readProducerEnv(options.env)
  const log = pino(logOptions({ level: env.PAWL_LOG_LEVEL, name: 'producer' }), pino.destination(2))
  const config = options.agents === undefined ? (await loadConfig(env.PAWL_CONFIG)).config : { agents: options.agents }
  const connections = await connect(env, config, log)
  const stopTraces = await startTraces({ endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, service: 'pawl-producer', instance: String(process.pid) }, log)
  const figures = keepFigures(connections.ledger)
  const metrics = makeMetrics(figures)
  const counted = { ...connections, observe: metrics.observe }
  const closing = new AbortController()
  const dispatch = (runId: string): Promise<void> => dispatchRun(counted, runId)
  const bulks = startBulkWork({ ledger: connections.ledger, dispatch, log })
  const app = createApp({
    ledger: connections.ledger, agents: config.agents, tokens: env.PAWL_TOKENS, log, closing: closing.signal, streamAliveMs: options.streamAliveMs, metrics, figures,
    dispatch,
    onBulk: () => bulks.poke(),
    queues: () => countQueues(connections.queue),
    onDispatchError: (error, runId) => log.warn({ run: runId }, `not rung for; the sweep will: ${error instanceof Error ? error.message : String(error)}`),
  })
  // Streams may take long, so no limit on a whole request: bodies have their own deadlines (`read-json.ts`). Node looks for late headers every 30 s unless told.
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: { requestTimeout: 0, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 } }) as Server
  try {
    const port = await listen(server, env.PAWL_HOST, env.PAWL_PORT)
    const splitting = await startSplitting({ ...counted, agents: config.agents, log })
    const url = `http://${env.PAWL_HOST.includes(':') ? `[${env.PAWL_HOST}]` : env.PAWL_HOST}:${port}`
    log.info({ url, tokens: env.PAWL_TOKENS.length, open: isLoopback(env.PAWL_HOST) ? 'this machine' : 'the network' }, 'listening')
    return {
      url,
      async close() {
        closing.abort()
        await stopListening(server)
        await splitting.stop()
        await bulks.stop()
        await connections.close()
        await stopTraces()
      },
    }
  } catch (error) {
    await stopListening(server)
    await bulks.stop()
    await connections.close()
    await stopTraces()
    throw error
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(new PawlError('CANNOT_LISTEN',
      `The producer cannot listen on ${host}:${port} (${cause.code ?? cause.message}). ${cause.code === 'EADDRINUSE' ? 'Something else has the port: stop it, or set PAWL_PORT.' : 'Check PAWL_HOST and PAWL_PORT.'}`, 'crash', {}, { cause })))
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

/** Requests under way may end; whoever takes longer is cut off. */
async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => { server.close(() => resolve()) })
  // A connection becomes idle when its answer is out, and would be kept alive for seconds.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const timer = setTimeout(() => server.closeAllConnections(), stopGraceMs)
  await closed
  clearInterval(idle)
  clearTimeout(timer)
}
