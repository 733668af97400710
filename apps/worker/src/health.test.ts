/** What a worker's health tells those who route by it. Redis of its own: it is stopped. */
import { Ledger, migrateLedger } from '@pawl/ledger'
import { connectQueue } from '@pawl/queue'
import { expect, test } from 'vitest'
import { describeRedis, freshDatabase } from '../../../tests/setup/fixtures.ts'
import { startRedis } from '../../../tests/setup/redis-server.ts'
import { serveHealth } from './health.ts'

describeRedis('worker health', () => {
  test('a worker is not ready while its queue is away, and ready again by itself', async () => {
    const database = await freshDatabase()
    const ledger = new Ledger({ url: database.url })
    await migrateLedger(ledger)
    let redis = await startRedis()
    const queue = connectQueue({ backend: 'redis', url: redis.url, ledgerId: crypto.randomUUID(), onError: () => {} })
    await queue.ready()
    const health = await serveHealth({ port: 0, host: '127.0.0.1' }, { pids: [1], deaths: 0, isComplete: true, metrics: async () => '' }, { ledger, queue })
    const ready = async () => {
      const response = await fetch(`${health.url}/ready`)
      return { status: response.status, ...(await response.json() as object) }
    }
    try {
      expect(await ready()).toMatchObject({ status: 'ready', ledger: true, queue: true })
      await redis.stop('KILL')
      expect(await ready()).toMatchObject({ status: 'not ready', ledger: true, queue: false })
      redis = await startRedis({ port: redis.port })
      await expect.poll(ready, { timeout: 15_000, interval: 200 }).toMatchObject({ status: 'ready', queue: true })
    } finally {
      await health.close()
      await queue.close()
      await ledger.close()
      await redis.stop()
      await database.drop()
    }
  }, 60_000)
})
