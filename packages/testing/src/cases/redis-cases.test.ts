/** Fast forms of the cases that need a Redis of their own. */
import { appendFileSync } from 'node:fs'
import { describe, expect, inject, test, vi } from 'vitest'
import { findRedisBinary, startRedis } from '../../../../tests/setup/redis-server.ts'
import { startProducer } from '../../../../apps/producer/src/index.ts'
import { openWorld } from '../../../pawl/src/cli/world.testsuite.ts'
import { case38 } from './d-queue-and-ledger/case-38-large-results.ts'
import { case39 } from './d-queue-and-ledger/case-39-keys-evicted.ts'
import { fastServices } from './fast-services.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const suite = 'cases on a Redis of their own'
const hasBinary = findRedisBinary() !== null
if (!hasBinary) appendFileSync(inject('notRunFile'), `${suite}\n`)
const services = fastServices()

describe.skipIf(!hasBinary)(suite, () => {
  test('case 38: results of megabytes are kept in the ledger and never reach Redis', async () => {
    expect((await case38(services, { items: 6, resultBytes: 2_000_000, mostGrowthBytes: 3_000_000 })).problems).toEqual([])
  })

  test('case 39: a run whose queue loses keys in halves is completed from the ledger, each call made once', async () => {
    expect((await case39(services, { items: 16, evictions: 2 })).problems).toEqual([])
  })

  test('case 39: a Redis that may evict is a failure of the doctor, with the command that mends it', async () => {
    const redis = await startRedis({ settings: { 'maxmemory-policy': 'allkeys-lru' } })
    const world = await openWorld({ migrate: true })
    try {
      const { code, stdout } = await world.pawl('doctor', '--config', world.write('pawl.config.mjs', `export default { agents: [], queue: { backend: 'redis', url: '${redis.url}' } }`))
      expect(stdout).toMatch(/fail +redis-eviction +maxmemory-policy is allkeys-lru/)
      expect(stdout).toContain('config set maxmemory-policy noeviction')
      expect(code).toBe(1)
    } finally {
      await world.close()
      await redis.stop('KILL')
    }
  })

  test('case 39: producer and worker do not start on a Redis that may evict, say what mends it, and start where that is known', async () => {
    const redis = await startRedis({ settings: { 'maxmemory-policy': 'volatile-lru' } })
    const world = await openWorld({ migrate: true })
    try {
      const config = world.write('pawl.config.mjs', `export default { agents: [], queue: { backend: 'redis', url: '${redis.url}' } }`)
      for (const service of [['producer'], ['worker', '--processes', '1']]) {
        const { code, stdout, stderr } = await world.pawl(...service, '--port', '0', '--config', config)
        expect([code, stdout]).toEqual([1, ''])
        expect(stderr).toMatch(/maxmemory-policy volatile-lru.*Nothing was started.*config set maxmemory-policy noeviction.*PAWL_ALLOW_EVICTION=true/)
      }
      const producer = await startProducer({ agents: [], env: { ...world.env, REDIS_URL: redis.url, PAWL_PORT: '0', PAWL_ALLOW_EVICTION: 'true' } })
      expect((await fetch(`${producer.url}/ready`)).status).toBe(200)
      await producer.close()
    } finally {
      await world.close()
      await redis.stop('KILL')
    }
  })
})
