/** What a board is given: BullMQ's own objects, for this ledger's queues only. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { channel, useStore, type StoreUnderTest } from './ground.testsuite.ts'
import { nameQueues } from './names.ts'

export function boardContract(store: StoreUnderTest): void {
  describe('the board', () => {
    const { open, ringOf } = useStore(store)

    it('sees the jobs of every queue that names() lists', async () => {
      const { queue, ledgerId } = open()
      const ring = ringOf(ledgerId, { seq: 7 })
      await queue.ring([ring])
      await queue.showRun(ring.runId, 'a run', { done: 1, failed: 0, blocked: 0, total: 2 }, false)
      const seen = await Promise.all((await queue.names()).map(async ({ name }) => [name, await queue.boardQueue(name).getJobCountByTypes('waiting', 'delayed')] as const))
      expect(Object.fromEntries(seen)).toEqual({ [nameQueues(ledgerId).of(channel)]: 1, [nameQueues(ledgerId).runs]: 1 })
    })

    it('gets no queue of another ledger, and not the marker', () => {
      const { queue, ledgerId } = open()
      expect(() => queue.boardQueue(nameQueues(randomUUID()).runs)).toThrow(/is no queue of this ledger/)
      expect(() => queue.boardQueue(nameQueues(ledgerId).marker)).toThrow(/is no queue of this ledger/)
    })
  })
}
