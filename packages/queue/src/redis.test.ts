import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { appendFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { describeRedis } from '../../../tests/setup/fixtures.ts'
import { findRedisBinary, startRedis, type RedisServer } from '../../../tests/setup/redis-server.ts'
import { connectQueue } from './connect.ts'
import { nameQueues } from './names.ts'
import type { Doorbell, Queue as PawlQueue, Ring } from './port.ts'
import { queueContract } from './queue.testsuite.ts'
import { refuseEviction } from './refuse-eviction.ts'

/** By prefix, key by key: the server may be everybody's. */
async function deleteKeys(url: string, prefix: string): Promise<void> {
  const client = new Redis(url)
  const keys = await client.keys(`${prefix}*`)
  if (keys.length > 0) await client.del(...keys)
  client.disconnect()
}

describeRedis('redis', (url) => {
  queueContract({
    backend: 'redis',
    prepare: () => Promise.resolve({
      url,
      async leave(ledgerIds) { for (const ledgerId of ledgerIds) await deleteKeys(url, nameQueues(ledgerId).prefix) },
    }),
    empty: (at, ledgerId) => deleteKeys(at, nameQueues(ledgerId).prefix),
    look: (at, ledgerId, name) => new Queue(name, { connection: { url: at }, prefix: nameQueues(ledgerId).prefix }),
  })
})

const killable = 'a Redis that is killed, flushed or demoted'
const hasBinary = findRedisBinary() !== null
if (!hasBinary) appendFileSync(inject('notRunFile'), `${killable}\n`)

interface Scene {
  readonly queue: PawlQueue
  readonly bells: Doorbell[]
  readonly ringOf: (seq: number) => Ring
  readonly server: RedisServer
  /** The next server is stopped with the scene as well. */
  replace(server: RedisServer): void
}

/** One worker and one producer on a Redis of their own; a first ring was delivered. */
async function withOwnRedis(act: (scene: Scene) => Promise<void>): Promise<void> {
  const [first, ledgerId] = [await startRedis(), randomUUID()]
  let server = first
  const queue = connectQueue({ backend: 'redis', url: first.url, ledgerId, onError: () => undefined })
  try {
    const bells: Doorbell[] = []
    await queue.subscribe({ kind: 'split' }, 2, (bell) => { bells.push(bell); return Promise.resolve() })
    const ringOf = (seq: number): Ring => ({ ledgerId, runId: randomUUID(), seq, generation: 1, channel: { kind: 'split' }, first: false, title: 'a run' })
    await queue.ready()
    await queue.checkMarker()
    await queue.ring([ringOf(1)])
    await expect.poll(() => bells.length, { timeout: 10_000 }).toBe(1)
    await act({ queue, bells, ringOf, server: first, replace(next) { server = next } })
  } finally {
    await queue.close()
    await server.stop('KILL')
  }
}

describe.skipIf(!hasBinary)(killable, () => {
  const isDelivered = ({ bells }: Scene, seq: number) => expect.poll(() => bells.map((bell) => bell.seq), { timeout: 30_000 }).toContain(seq)

  it('killed with -9 and restarted empty: the marker tells, and the same worker goes on', async () => {
    await withOwnRedis(async (scene) => {
      const { queue, ringOf, server } = scene
      await server.stop('KILL')
      await expect(queue.ring([ringOf(2)])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      scene.replace(await startRedis({ port: server.port }))
      await expect.poll(() => queue.checkMarker().catch(() => 'down'), { timeout: 30_000 }).toBe(false)
      await queue.ring([ringOf(3)])
      await isDelivered(scene, 3)
    })
  }, 90_000)

  it('FLUSHALL: the marker tells, and the same worker goes on', async () => {
    await withOwnRedis(async (scene) => {
      const { queue, ringOf, server } = scene
      const operator = new Redis(server.url)
      await operator.flushall()
      operator.disconnect()
      expect(await queue.checkMarker()).toBe(false)
      await queue.ring([ringOf(2)])
      await isDelivered(scene, 2)
    })
  })

  it('demoted to a replica it refuses rings in time, and promoted again it works without a restart', async () => {
    await withOwnRedis(async (scene) => {
      const { queue, ringOf, server } = scene
      const operator = new Redis(server.url)
      await operator.replicaof('127.0.0.1', 1)
      const from = performance.now()
      await expect(queue.ring([ringOf(2)])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      expect(performance.now() - from).toBeLessThan(5_000)
      await operator.replicaof('NO', 'ONE')
      operator.disconnect()
      await expect.poll(() => queue.ring([ringOf(3)]).then(() => true, () => false), { timeout: 30_000 }).toBe(true)
      await isDelivered(scene, 3)
    })
  }, 90_000)

  it('that may evict is refused at the start with the way out, taken where that is allowed, and one that does not say is only warned about', async () => {
    const server = await startRedis({ settings: { 'maxmemory-policy': 'allkeys-lru' } })
    const operator = new Redis(server.url)
    await operator.acl('SETUSER', 'quiet', 'on', '>pw', '~*', '&*', '+@all', '-info')
    const open = (url: string) => connectQueue({ backend: 'redis', url, ledgerId: randomUUID(), onError: () => undefined })
    const [evicting, silent] = [open(server.url), open(`redis://quiet:pw@127.0.0.1:${server.port}`)]
    const warned: string[] = []
    const ask = (queue: PawlQueue, isAllowed: boolean) => refuseEviction(queue, { url: server.url, isAllowed, warn: (sentence) => { warned.push(sentence) } })
    try {
      await expect(ask(evicting, false)).rejects.toMatchObject({ code: 'REDIS_MAY_EVICT', message: expect.stringContaining(`127.0.0.1:${server.port} has maxmemory-policy allkeys-lru`) as string })
      await ask(evicting, true)
      await ask(silent, false)
      expect(warned).toEqual([expect.stringContaining('PAWL_ALLOW_EVICTION is set'), expect.stringContaining('does not say its maxmemory-policy')])
      await operator.config('SET', 'maxmemory-policy', 'noeviction')
      await ask(evicting, false)
      expect(warned).toHaveLength(2)
    } finally {
      operator.disconnect()
      await Promise.all([evicting.close(), silent.close()])
      await server.stop('KILL')
    }
  })

  it('a refused password is told without the password', async () => {
    const server = await startRedis()
    const operator = new Redis(server.url)
    await operator.config('SET', 'requirepass', 'the-real-one')
    const told: Error[] = []
    const queue = connectQueue({ backend: 'redis', url: `redis://:hunter2-hunter2@127.0.0.1:${server.port}`, ledgerId: randomUUID(), onError: (error) => { told.push(error) } })
    try {
      const failure: unknown = await queue.checkMarker().catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      await expect.poll(() => told.length, { timeout: 5_000 }).toBeGreaterThan(0)
      for (const error of [failure as Error, (failure as Error).cause as Error, ...told]) {
        expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hunter2')
      }
    } finally {
      operator.disconnect()
      await queue.close()
      await server.stop('KILL')
    }
  })
})
