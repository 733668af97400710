/** BullMQ's own Postgres backend, in schema `pawl_queue`: no Redis at all. */
import { PostgresConnection, PostgresQueueBackend, Queue, Worker, type BackendFactory, type IQueueBackend, type PostgresPoolConfig } from 'bullmq'
import pg from 'pg'
import { settleWithin } from './failures.ts'
import { eventsKept, restAfterFailedFetch, type JobQueue, type Store } from './store.ts'

const schema = 'pawl_queue'
/** Relation, function or schema is missing: somebody dropped it under us. */
const droppedCodes = ['42P01', '42883', '3F000']

type ListenClient = Awaited<ReturnType<PostgresConnection['getListenClient']>>
/** Who uses the connection hears of its death from the next statement; an error event nobody listens to would end the whole process. */
const survive = (client: { on(event: 'error', listener: () => void): unknown }): void => void client.on('error', () => undefined)

/**
 * BullMQ would open its LISTEN connection after a close that came during the start, and leave it open for ever. It also leaves clients without
 * a listener for errors: those lent by the pool, and the LISTEN client while it is closed, and between its connect and the next tick; a backend
 * that is killed then ended the process.
 */
class SurvivingClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config)
    survive(this)
  }
}

class ClosableConnection extends PostgresConnection {
  #listening: ListenClient | undefined

  constructor(config: PostgresPoolConfig) {
    super(config)
    this.pool.on('connect', survive)
    // What it builds its LISTEN client from; private, so a test sees that it still is.
    Reflect.set(this, 'pgModule', { Client: SurvivingClient })
  }

  override async getListenClient(): Promise<ListenClient> {
    if (this.isClosing !== undefined) throw new Error('the connection is closed')
    const client = await super.getListenClient()
    if (client !== this.#listening) survive(client)
    this.#listening = client
    return client
  }

  override async close(): Promise<void> {
    const closed = super.close()
    // It has just taken every listener off.
    if (this.#listening) survive(this.#listening)
    await closed
  }
}

/** BullMQ migrates under an advisory lock of its own, so any number of processes may start at once. */
const configOf = (url: string, max: number): PostgresPoolConfig => ({
  connectionString: url, schema, migrate: true, max,
  // A pool finds out about silent connections one by one, a timeout each: few connections, short timeouts.
  connectionTimeoutMillis: 4_000, query_timeout: 5_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000,
})

/** The producer's connections, and the queues on them. */
interface Generation { readonly connection: PostgresConnection; readonly queues: Map<string, JobQueue> }

export function openPostgres(url: string, onError: (error: unknown, where: string) => void): Store {
  let current: Generation | undefined
  const retired = new Set<PostgresConnection>()

  async function retire(connection: PostgresConnection): Promise<void> {
    await settleWithin(connection.close(), 2_000)
    retired.delete(connection)
  }
  function open(): Generation {
    if (current !== undefined) return current
    const connection = new ClosableConnection(configOf(url, 4))
    connection.on('error', (error: Error) => { onError(error, 'postgres') })
    current = { connection, queues: new Map() }
    return current
  }
  const sharing = (connection: PostgresConnection): BackendFactory<IQueueBackend> =>
    (name, options) => new PostgresQueueBackend(connection, name, { ...options, connection: {} }, false)

  return {
    evictionPolicy: () => Promise.resolve(null),
    async answer() {
      const { connection } = open()
      await connection.waitUntilReady()
      await connection.pool.query('select 1')
    },
    queue(name) {
      const { connection, queues } = open()
      const known = queues.get(name)
      if (known !== undefined) return known
      const queue: JobQueue = new Queue(name, { connection: {}, streams: eventsKept }, sharing(connection))
      queue.on('error', (error) => { onError(error, name) })
      queues.set(name, queue)
      return queue
    },
    remember: () => Promise.resolve(),
    async names(start) {
      const { connection } = open()
      await connection.waitUntilReady()
      const { rows } = await connection.pool.query<{ queue: string }>(
        'select queue from meta where starts_with(queue, $1) union select queue from job where starts_with(queue, $1) order by 1', [start])
      return rows.map((row) => row.queue)
    },
    discard() {
      const old = current
      current = undefined
      // Calls under way may still use it: all of them have met their deadline by then.
      if (old === undefined) return
      retired.add(old.connection)
      setTimeout(() => { void retire(old.connection) }, 6_000).unref()
    },
    isEmptied: (error) => droppedCodes.includes(String((error as { code?: unknown }).code)),
    buildWorker(name, processor, settings) {
      const connection = new ClosableConnection(configOf(url, 2))
      const factory: BackendFactory<IQueueBackend> = (queue, options) =>
        restAfterFailedFetch(new PostgresQueueBackend(connection, queue, { ...options, connection: {} }, true, queue))
      const worker = new Worker(name, processor, { ...settings, connection: {}, autorun: false }, factory)
      return { worker, destroy: () => { void connection.close().catch(() => undefined) } }
    },
    buildFetcher: (name) => new Worker(name, undefined, { connection: {}, autorun: false }, sharing(open().connection)),
    async close() {
      if (current !== undefined) retired.add(current.connection)
      current = undefined
      await Promise.all([...retired].map(retire))
    },
  }
}
