import { PawlError } from '@pawl/core'
import type { PawlConfig } from '@pawl/harness'
import { checkSchema, Ledger, readIdentity, type LedgerOptions } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import type { Logger } from 'pino'
import type { WorkerEnv } from './env.ts'

export interface Connections {
  readonly ledger: Ledger
  readonly queue: Queue
  readonly queueUrl: string
  readonly ledgerId: string
  close(): Promise<void>
}

/** Both stores, looked at before anything starts: wrong schema, no ledger or no answer is said with the way out. */
export async function connect(env: WorkerEnv, config: PawlConfig, log: Logger, name: string, open: (options: LedgerOptions) => Ledger = (options) => new Ledger(options)): Promise<Connections> {
  const databaseUrl = env.DATABASE_URL ?? config.databaseUrl
  if (databaseUrl === undefined) throw new PawlError('NO_DATABASE', 'DATABASE_URL is not set and pawl.config names no databaseUrl. Set one, or use "pawl dev", which brings its own Postgres.', 'crash')
  const redisUrl = env.REDIS_URL ?? (config.queue?.backend === 'redis' ? config.queue.url : undefined)
  const backend = env.PAWL_QUEUE ?? config.queue?.backend ?? (redisUrl === undefined ? 'postgres' : 'redis')
  const queueUrl = backend === 'redis' ? redisUrl : (config.queue?.backend === 'postgres' ? config.queue.url : undefined) ?? databaseUrl
  if (queueUrl === undefined) throw new PawlError('NO_REDIS', 'The queue is redis, but REDIS_URL is not set. Set it, or set PAWL_QUEUE=postgres.', 'crash')
  const ledger = open({ url: databaseUrl, name })
  try {
    await checkSchema(ledger)
    const { id } = await readIdentity(ledger)
    const queue = connectQueue({ backend, url: queueUrl, ledgerId: id, onError: (error, where) => log.warn({ where }, `queue: ${error.message}`) })
    try {
      await queue.ready()
    } catch (error) {
      await queue.close()
      throw error
    }
    return { ledger, queue, queueUrl, ledgerId: id, close: async () => { await queue.close(); await ledger.close() } }
  } catch (error) {
    await ledger.close()
    throw error
  }
}
