/** Redis through ioredis. Producers fail fast; workers wait for ever, and notice a server that is frozen or was demoted. */
import { createRedisBackend, Queue, Worker, type BackendFactory, type IQueueBackend } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { eventsKept, restAfterFailedFetch, type JobQueue, type Store } from './store.ts'
import { settleWithin } from './failures.ts'

const always = {
  connectTimeout: 4_000,
  disconnectTimeout: 500,
  keepAlive: 10_000,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
  // After a failover the old primary refuses writes: reconnect, so that the name is resolved again, and send again.
  reconnectOnError: (error: Error): 2 | false => (error.message.includes('READONLY') ? 2 : false),
} satisfies RedisOptions
const producer = { ...always, maxRetriesPerRequest: 1, commandTimeout: 5_000, socketTimeout: 6_000 } satisfies RedisOptions
/** A blocking wait lasts 10 s at most: a socket silent for longer is dead. */
const consumer = { ...always, maxRetriesPerRequest: null, socketTimeout: 13_000 } satisfies RedisOptions

/** A client that knows its copies: BullMQ makes one for its blocking wait and gives no way to end it while it connects. */
class Family extends Redis {
  readonly #copies: Redis[] = []

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(override)
    copy.on('error', () => undefined)
    this.#copies.push(copy)
    return copy
  }

  leave(): void {
    for (const client of [this, ...this.#copies]) client.disconnect()
  }
}

const factory: BackendFactory<IQueueBackend> = (name, options, how) => restAfterFailedFetch(createRedisBackend(name, options, how))
const sharing: BackendFactory<IQueueBackend> = (name, options) => createRedisBackend(name, options)

export function openRedis(url: string, prefix: string, onError: (error: unknown, where: string) => void): Store {
  const client = new Redis(url, producer)
  client.on('error', (error) => { onError(error, 'redis') })
  const known = `${prefix}:names`
  let queues = new Map<string, JobQueue>()

  return {
    async answer() { await client.ping() },
    // INFO, which managed services allow where CONFIG is forbidden. A server that refuses even that answers, and does not say.
    async evictionPolicy() {
      const facts = await client.info('memory').catch((error: unknown) => {
        if (error instanceof Error && error.name === 'ReplyError') return ''
        throw error
      })
      return /^maxmemory_policy:(\S+)/m.exec(facts)?.[1] ?? null
    },
    queue(name) {
      const open = queues.get(name)
      if (open !== undefined) return open
      const queue: JobQueue = new Queue(name, { connection: client, prefix, streams: eventsKept }, sharing)
      queue.on('error', (error) => { onError(error, name) })
      queues.set(name, queue)
      return queue
    },
    async remember(names) { await client.sadd(known, ...names) },
    async names() { return (await client.smembers(known)).toSorted() },
    discard() {
      const old = queues
      queues = new Map()
      for (const queue of old.values()) void queue.close().catch(() => undefined)
    },
    isEmptied: () => false,
    buildWorker(name, processor, settings) {
      const family = new Family(url, consumer)
      family.on('error', (error) => { onError(error, name) })
      const worker = new Worker(name, processor, { ...settings, connection: family, prefix, autorun: false }, factory)
      return { worker, destroy: () => { family.leave() } }
    },
    buildFetcher: (name) => new Worker(name, undefined, { connection: client, prefix, autorun: false }, sharing),
    async close() {
      if (client.status === 'ready') await settleWithin(client.quit(), 1_000)
      client.disconnect()
    },
  }
}
