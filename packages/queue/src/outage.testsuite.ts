/** What both backends promise while the store is away, and when it comes back. */
import { PawlError, waitMs } from '@pawl/core'
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { afterOutage, soon, useStore, type StoreUnderTest } from './ground.testsuite.ts'
import type { Queue, Ring } from './port.ts'

export function outageContract(store: StoreUnderTest): void {
  describe(`outages of ${store.backend}`, () => {
    const { at, errors, open, ringOf, bellOf, collect, door } = useStore(store)

    it('while the store is down, calls fail within 5 s with the host and without the password; nothing hangs', async () => {
      const down = await door()
      await down.shut()
      const secret = new URL(down.url)
      const host = secret.host
      secret.username ||= 'someone'
      secret.password = 'hunter2-hunter2'
      const { queue, ledgerId } = open({ at: secret.href })
      const from = performance.now()
      const failure: unknown = await queue.ring([ringOf(ledgerId)]).catch((error: unknown) => error)
      expect(performance.now() - from).toBeLessThan(5_000)
      expect(failure).toBeInstanceOf(PawlError)
      expect(failure).toMatchObject({ code: 'QUEUE_UNREACHABLE', next: 'retry' })
      expect((failure as PawlError).message).toContain(host)
      await expect(queue.stateOf([ringOf(ledgerId)])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      await expect(queue.checkMarker()).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      await queue.showRun(randomUUID(), 'a run', { done: 0, failed: 0, blocked: 0, total: 1 }, false)
      const { subscription } = await collect(queue)
      const closing = performance.now()
      await subscription.close(1_000)
      await queue.close()
      expect(performance.now() - closing).toBeLessThan(9_000)
      await expect(queue.ring([ringOf(ledgerId)])).rejects.toMatchObject({ code: 'QUEUE_CLOSED' })
      expect(JSON.stringify([failure, (failure as PawlError).cause, errors]) + String((failure as PawlError).message)).not.toContain('hunter2')
    })

    it('ready gives up within 10 s when the store stays down, and resolves when it comes up meanwhile', async () => {
      const shut = await door()
      await shut.shut()
      const { queue } = open({ at: shut.url })
      const waiting = queue.ready()
      await waitMs(1_500)
      await shut.open()
      await waiting
      await shut.shut()
      const from = performance.now()
      await expect(queue.ready()).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      expect(performance.now() - from).toBeLessThan(10_000)
    })

    it('a subscription made while the store is down starts when it comes up', async () => {
      const shut = await door()
      await shut.shut()
      const { queue, ledgerId } = open({ at: shut.url })
      const { bells } = await collect(queue)
      await waitMs(2_500)
      await shut.open()
      const ring = ringOf(ledgerId)
      await expect.poll(() => queue.ring([ring]).then(() => true, () => false), afterOutage).toBe(true)
      await expect.poll(() => bells, afterOutage).toEqual([bellOf(ring)])
    }, 60_000)

    it('after an outage rings and deliveries go on, and the errors told are few', async () => {
      const shut = await door()
      const { queue, ledgerId } = open({ at: shut.url })
      const { bells } = await collect(queue, { concurrency: 5 })
      const before = ringOf(ledgerId)
      await queue.ring([before])
      await expect.poll(() => bells.length, soon).toBe(1)
      const told = errors.length
      await shut.shut()
      await waitMs(5_000)
      await shut.open()
      expect(errors.length - told).toBeLessThan(15)
      const after = ringOf(ledgerId)
      await expect.poll(() => queue.ring([after]).then(() => true, () => false), afterOutage).toBe(true)
      await expect.poll(() => bells, afterOutage).toEqual([bellOf(before), bellOf(after)])
    }, 60_000)

    it('connections that fall silent do not hold a ring, and producer and worker replace them within 30 s', async () => {
      const silent = await door()
      const { queue, ledgerId } = open({ at: silent.url })
      const { bells } = await collect(queue)
      const before = ringOf(ledgerId)
      await queue.ring([before])
      await expect.poll(() => bells.length, soon).toBe(1)
      silent.blackHole()
      const from = performance.now()
      await expect(queue.ring([ringOf(ledgerId)])).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' })
      expect(performance.now() - from).toBeLessThan(5_000)
      const after = ringOf(ledgerId)
      await expect.poll(() => queue.ring([after]).then(() => true, () => false), afterOutage).toBe(true)
      await expect.poll(() => bells.some((bell) => bell.runId === after.runId), afterOutage).toBe(true)
      expect(performance.now() - from).toBeLessThan(30_000)
    }, 60_000)

    it('many processes may start on a new store at once', async () => {
      const ledgerId = randomUUID()
      await store.empty(at(), ledgerId)
      const queues = Array.from({ length: 6 }, () => open({ ledgerId }).queue)
      await Promise.all(queues.map((queue) => queue.ready()))
      const { bells } = await collect(queues[0] as Queue)
      const rings = queues.map((_, seq) => ringOf(ledgerId, { seq }))
      await Promise.all(queues.map((queue, i) => queue.ring([rings[i] as Ring])))
      await expect.poll(() => bells.map((bell) => bell.seq).toSorted((a, b) => a - b), soon).toEqual([0, 1, 2, 3, 4, 5])
    })
  })
}
