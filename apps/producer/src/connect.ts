/** Both stores, looked at before anything listens: a wrong schema, no ledger or no answer is said with the way out. */
import { PawlError } from '@pawl/core'
import { checkSchema, Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { connectQueue, refuseEviction, type Queue } from '@pawl/queue'
import type { Logger } from 'pino'
import type { ProducerEnv } from './env.ts'

export interface Places {
  readonly databaseUrl?: string | undefined
  readonly queue?: { readonly backend: 'redis' | 'postgres'; readonly url?: string } | undefined
}

export interface Connections {
  readonly ledger: Ledger
  readonly queue: Queue
  readonly ledgerId: string
  close(): Promise<void>
}

export async function connect(env: ProducerEnv, places: Places, log: Logger): Promise<Connections> {
  const databaseUrl = env.DATABASE_URL ?? places.databaseUrl
  if (databaseUrl === undefined) throw new PawlError('NO_DATABASE', 'DATABASE_URL is not set and pawl.config names no databaseUrl. Set one, or use "pawl dev", which brings its own Postgres.', 'crash')
  const redisUrl = env.REDIS_URL ?? (places.queue?.backend === 'redis' ? places.queue.url : undefined)
  const backend = env.PAWL_QUEUE ?? places.queue?.backend ?? (redisUrl === undefined ? 'postgres' : 'redis')
  const queueUrl = backend === 'redis' ? redisUrl : (places.queue?.backend === 'postgres' ? places.queue.url : undefined) ?? databaseUrl
  if (queueUrl === undefined) throw new PawlError('NO_REDIS', 'The queue is redis, but REDIS_URL is not set. Set it, or set PAWL_QUEUE=postgres.', 'crash')
  const ledger = new Ledger({ url: databaseUrl, name: 'pawl-producer' })
  try {
    if (env.PAWL_MIGRATE) {
      const applied = await migrateLedger(ledger)
      if (applied.length > 0) log.info({ applied }, 'the ledger was migrated')
    }
    await checkSchema(ledger)
    const { id } = await readIdentity(ledger)
    const queue = connectQueue({ backend, url: queueUrl, ledgerId: id, onError: (error, where) => log.warn({ where }, `queue: ${error.message}`) })
    try {
      await queue.ready()
      await refuseEviction(queue, { url: queueUrl, isAllowed: env.PAWL_ALLOW_EVICTION, warn: (sentence) => log.warn(sentence) })
    } catch (error) {
      await queue.close()
      throw error
    }
    return { ledger, queue, ledgerId: id, close: async () => { await queue.close(); await ledger.close() } }
  } catch (error) {
    await ledger.close()
    throw error
  }
}
