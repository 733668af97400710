/** What both backends promise about rings and deliveries. */
import { jobId } from '@pawl/core'
import { describe, expect, it } from 'vitest'
import { channel, soon, useStore, type StoreUnderTest } from './ground.testsuite.ts'

export function deliveryContract(store: StoreUnderTest): void {
  describe(`deliveries on ${store.backend}`, () => {
    const { open, ringOf, bellOf, collect, look, ended, closeLater } = useStore(store)

    it('a doorbell is delivered once, with its four ids and nothing else', async () => {
      const { queue, ledgerId } = open()
      await queue.ready()
      const { bells } = await collect(queue)
      const [first, last] = [ringOf(ledgerId), ringOf(ledgerId)]
      await queue.ring([first])
      await queue.ring([last])
      await expect.poll(() => bells, soon).toEqual([bellOf(first), bellOf(last)])
    })

    it('the same id twice, in one bulk and again, is one delivery', async () => {
      const { queue, ledgerId } = open()
      const [twice, last] = [ringOf(ledgerId), ringOf(ledgerId)]
      await queue.ring([twice, twice])
      await queue.ring([twice])
      await queue.ring([last])
      const { bells } = await collect(queue)
      await expect.poll(() => bells, soon).toEqual([bellOf(twice), bellOf(last)])
    })

    it('a job that is kept after its end swallows its id and says "ended"; the next generation is delivered', async () => {
      const { queue, ledgerId } = open()
      const { bells } = await collect(queue)
      const ring = ringOf(ledgerId)
      expect(await queue.stateOf([ring])).toEqual(['missing'])
      await queue.ring([ring])
      await ended(queue, ring)
      await queue.ring([ring])
      expect(await queue.stateOf([ring])).toEqual(['ended'])
      const next = { ...ring, generation: 2 }
      await queue.ring([next])
      await expect.poll(() => bells.map((bell) => bell.generation), soon).toEqual([1, 2])
    })

    it('states come back in the order asked, across channels', async () => {
      const { queue, ledgerId } = open()
      const split = ringOf(ledgerId, { channel: { kind: 'split' } })
      const [waiting, missing] = [ringOf(ledgerId), ringOf(ledgerId)]
      await queue.ring([waiting, split])
      expect(await queue.stateOf([missing, split, waiting, missing])).toEqual(['missing', 'live', 'live', 'missing'])
    })

    it('a takeover goes to the head of the queue', async () => {
      const { queue, ledgerId } = open()
      const rings = [1, 2, 3].map((seq) => ringOf(ledgerId, { seq }))
      await queue.ring(rings)
      await queue.ring([ringOf(ledgerId, { seq: 9, first: true })])
      const { bells } = await collect(queue)
      await expect.poll(() => bells.map((bell) => bell.seq), soon).toEqual([9, 1, 2, 3])
    })

    it('a handler that throws fails its job only, with one line and no stack', async () => {
      const { queue, ledgerId } = open()
      const seen: number[] = []
      const subscription = await queue.subscribe(channel, 1, (bell) => {
        seen.push(bell.seq)
        return bell.seq === 1 ? Promise.reject(new Error('the postgres of the ledger is away')) : Promise.resolve({ big: 'result' })
      })
      closeLater(() => subscription.close(1_000))
      const [bad, good] = [ringOf(ledgerId, { seq: 1 }), ringOf(ledgerId, { seq: 2 })]
      await queue.ring([bad, good])
      await ended(queue, good)
      expect(seen).toEqual([1, 2])
      const looking = look(ledgerId)
      const failed = await looking.getJob(jobId(bad.runId, 1, 1))
      expect(await failed?.getState()).toBe('failed')
      expect(failed?.failedReason).toBe('the postgres of the ledger is away')
      expect(failed?.stacktrace ?? []).toEqual([])
      const completed = await looking.getJob(jobId(good.runId, 2, 1))
      expect(completed?.returnvalue ?? null).toBeNull()
    })

    it('as many handlers as the concurrency run at once, and no more', async () => {
      const { queue, ledgerId } = open()
      let [now, most, done] = [0, 0, 0]
      let openGate = (): void => undefined
      const gate = new Promise<void>((resolve) => { openGate = resolve })
      const subscription = await queue.subscribe(channel, 3, async () => {
        most = Math.max(most, ++now)
        if (now === 3) openGate()
        await gate
        now--
        done++
      })
      closeLater(() => subscription.close(1_000))
      await queue.ring(Array.from({ length: 12 }, (_, seq) => ringOf(ledgerId, { seq })))
      await expect.poll(() => done, soon).toBe(12)
      expect(most).toBe(3)
    })
  })
}
