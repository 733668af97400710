import { Queue } from 'bullmq'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { describeRedis, redisUrl } from '../../../tests/setup/fixtures.ts'
import { connectQueue } from './connect.ts'
import { nameQueues } from './names.ts'
import type { Doorbell, Ring } from './port.ts'
import { queueContract } from './queue.testsuite.ts'

/** A database of its own, because the suite empties it. */
function ownDatabase(): string {
  const url = new URL(redisUrl())
  url.pathname = '/13'
  return url.href
}

describeRedis('redis', () => {
  queueContract({
    backend: 'redis',
    async prepare() { await this.empty(ownDatabase()); return ownDatabase() },
    async empty(url) {
      const client = new Redis(url)
      await client.flushdb()
      client.disconnect()
    },
    look: (url, ledgerId, name) => new Queue(name, { connection: { url }, prefix: nameQueues(ledgerId).prefix }),
  })

  async function freePort(): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return port
  }
  async function startRedis(port: number, folder: string, ...more: string[]): Promise<ChildProcess> {
    const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no', ...more], { stdio: 'ignore' })
    await Promise.race([once(child, 'spawn'), once(child, 'error').then(([error]) => { throw error as Error })])
    return child
  }

  it('a Redis killed with -9 and restarted empty: the marker tells, and the same worker goes on', async () => {
    const [port, folder, ledgerId] = [await freePort(), await mkdtemp(join(tmpdir(), 'pawl-redis-')), randomUUID()]
    let server = await startRedis(port, folder)
    const queue = connectQueue({ backend: 'redis', url: `redis://127.0.0.1:${port}`, ledgerId, onError: () => undefined })
    try {
      await queue.ready()
      const bells: Doorbell[] = []
      await queue.subscribe({ kind: 'split' }, 2, (bell) => { bells.push(bell); return Promise.resolve() })
      const ring: Ring = { ledgerId, runId: randomUUID(), seq: 0, generation: 1, channel: { kind: 'split' }, first: false, title: 'a run' }
      expect(await queue.checkMarker()).toBe(false)
      await queue.ring([ring])
      await expect.poll(() => bells.length, { timeout: 10_000 }).toBe(1)
      server.kill('SIGKILL')
      await once(server, 'exit')
      await expect(queue.ring([ring])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      server = await startRedis(port, folder)
      await expect.poll(() => queue.checkMarker().catch(() => 'down'), { timeout: 30_000 }).toBe(false)
      await queue.ring([ring])
      await expect.poll(() => bells.length, { timeout: 30_000 }).toBe(2)
    } finally {
      await queue.close()
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  }, 90_000)

  it('a primary that was demoted refuses rings in time, and promoted again it works without a restart', async () => {
    const [port, folder, ledgerId] = [await freePort(), await mkdtemp(join(tmpdir(), 'pawl-redis-')), randomUUID()]
    const server = await startRedis(port, folder)
    const queue = connectQueue({ backend: 'redis', url: `redis://127.0.0.1:${port}`, ledgerId, onError: () => undefined })
    const operator = new Redis(port)
    try {
      await queue.ready()
      const bells: Doorbell[] = []
      await queue.subscribe({ kind: 'split' }, 2, (bell) => { bells.push(bell); return Promise.resolve() })
      const ringOf = (seq: number): Ring => ({ ledgerId, runId: randomUUID(), seq, generation: 1, channel: { kind: 'split' }, first: false, title: 'a run' })
      await queue.ring([ringOf(1)])
      await expect.poll(() => bells.length, { timeout: 10_000 }).toBe(1)
      await operator.replicaof('127.0.0.1', 1)
      const from = performance.now()
      await expect(queue.ring([ringOf(2)])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      expect(performance.now() - from).toBeLessThan(5_000)
      await operator.replicaof('NO', 'ONE')
      await expect.poll(() => queue.ring([ringOf(3)]).then(() => true, () => false), { timeout: 30_000 }).toBe(true)
      await expect.poll(() => bells.map((bell) => bell.seq), { timeout: 30_000 }).toContain(3)
    } finally {
      operator.disconnect()
      await queue.close()
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  }, 90_000)

  it('a refused password is told without the password', async () => {
    const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'pawl-redis-'))]
    const server = await startRedis(port, folder, '--requirepass', 'the-real-one')
    const told: Error[] = []
    const queue = connectQueue({ backend: 'redis', url: `redis://:hunter2-hunter2@127.0.0.1:${port}`, ledgerId: randomUUID(), onError: (error) => { told.push(error) } })
    try {
      const failure: unknown = await queue.checkMarker().catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      await expect.poll(() => told.length, { timeout: 5_000 }).toBeGreaterThan(0)
      for (const error of [failure as Error, (failure as Error).cause as Error, ...told]) {
        expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hunter2')
      }
    } finally {
      await queue.close()
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  })
})
