/** What both backends promise about workers that pause and close, stores that are emptied or shared, and the board. */
import { jobId, waitMs } from '@pawl/core'
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { afterOutage, channel, soon, useStore, type StoreUnderTest } from './ground.testsuite.ts'
import { nameQueues } from './names.ts'
import type { BoardJob, Channel, Doorbell } from './port.ts'

export function workerLifeContract(store: StoreUnderTest): void {
  describe(`workers and the board on ${store.backend}`, () => {
    const { at, errors, open, ringOf, bellOf, collect, look, ended, closeLater } = useStore(store)

    it('after pause the handler under way finishes and another worker gets what comes next', async () => {
      const { queue, ledgerId } = open()
      const seen: number[] = []
      let [started, finish] = [(): void => undefined, (): void => undefined]
      const hasStarted = new Promise<void>((resolve) => { started = resolve })
      const mayFinish = new Promise<void>((resolve) => { finish = resolve })
      const paused = await queue.subscribe(channel, 2, async (bell) => { seen.push(bell.seq); started(); await mayFinish; seen.push(-bell.seq) })
      closeLater(() => paused.close(1_000))
      await queue.ring([ringOf(ledgerId, { seq: 1 })])
      await hasStarted
      paused.pause()
      const next = ringOf(ledgerId, { seq: 2 })
      await queue.ring([next])
      const { bells } = await collect(queue)
      await expect.poll(() => bells, soon).toEqual([bellOf(next)])
      finish()
      await expect.poll(() => seen, soon).toEqual([1, -1])
    })

    it('an idle worker that is paused while it waits takes nothing', async () => {
      const { queue, ledgerId } = open()
      const { bells, subscription } = await collect(queue)
      const first = ringOf(ledgerId, { seq: 1 })
      await queue.ring([first])
      await ended(queue, first)
      subscription.pause()
      const next = ringOf(ledgerId, { seq: 2 })
      await queue.ring([next])
      const other = await collect(queue)
      await expect.poll(() => other.bells, soon).toEqual([bellOf(next)])
      expect(bells).toEqual([bellOf(first)])
    })

    it('close waits for the handler under way, and gives up on one that hangs when the grace ends', async () => {
      const { queue, ledgerId } = open()
      const [quick, hanging] = [ringOf(ledgerId), ringOf(ledgerId, { channel: { kind: 'split' } })]
      let begun = 0
      let isDone = false
      const polite = await queue.subscribe(channel, 1, async () => { begun++; await waitMs(300); isDone = true })
      const stuck = await queue.subscribe({ kind: 'split' }, 1, () => { begun++; return new Promise(() => undefined) })
      await queue.ring([quick, hanging])
      await expect.poll(() => begun, soon).toBe(2)
      await polite.close(5_000)
      expect(isDone).toBe(true)
      expect(await queue.stateOf([quick])).toEqual(['ended'])
      const from = performance.now()
      await stuck.close(500)
      const took = performance.now() - from
      expect(took).toBeGreaterThan(450)
      expect(took).toBeLessThan(3_500)
      expect(await queue.stateOf([hanging])).toEqual(['live'])
    })

    it('the job of a worker that is gone comes back by itself, and stalling does not fail it', async () => {
      const { queue, ledgerId } = open()
      const ring = ringOf(ledgerId)
      let isTaken = false
      const gone = await queue.subscribe(channel, 1, () => { isTaken = true; return new Promise(() => undefined) })
      await queue.ring([ring])
      await expect.poll(() => isTaken, soon).toBe(true)
      await gone.close(0)
      const { bells } = await collect(queue)
      await expect.poll(() => bells, { timeout: 50_000, interval: 100 }).toEqual([bellOf(ring)])
      await ended(queue, ring)
      expect(await look(ledgerId).getJobState(jobId(ring.runId, 1, 1))).toBe('completed')
    }, 70_000)

    it('the marker is set once, and an emptied store is noticed; the same subscription gets what is rung then', async () => {
      const { queue, ledgerId } = open()
      expect(await queue.checkMarker()).toBe(false)
      expect(await queue.checkMarker()).toBe(true)
      const { bells } = await collect(queue)
      const [before, after] = [ringOf(ledgerId), ringOf(ledgerId)]
      await queue.ring([before])
      await ended(queue, before)
      await store.empty(at(), ledgerId)
      expect(await queue.checkMarker()).toBe(false)
      expect(await queue.checkMarker()).toBe(true)
      await queue.ring([after])
      await expect.poll(() => bells, afterOutage).toEqual([bellOf(before), bellOf(after)])
    })

    it('a job that is no doorbell fails with a sentence, and the handler never sees it', async () => {
      const { queue, ledgerId } = open()
      const { bells } = await collect(queue)
      const ring = ringOf(ledgerId)
      await queue.ring([ring])
      await ended(queue, ring)
      const looking = look(ledgerId)
      const bad = await looking.add('hand-made', { ledgerId, runId: 'x', seq: 'one', generation: 1, args: { to: 'a@b.c' } })
      await expect.poll(() => bad.getState(), soon).toBe('failed')
      const reason = (await looking.getJob(bad.id ?? ''))?.failedReason ?? ''
      expect(reason).toMatch(/is not a doorbell \(seq: .*the ledger rings again/s)
      expect(reason).not.toContain('a@b.c')
      expect(bells).toEqual([bellOf(ring)])
    })

    it('two ledgers on one store never see each other\'s jobs', async () => {
      const [a, b] = [open(), open()]
      const [fromA, fromB] = [await collect(a.queue), await collect(b.queue)]
      const [ringA, ringB] = [ringOf(a.ledgerId), ringOf(b.ledgerId)]
      await a.queue.ring([ringA])
      await b.queue.ring([ringB])
      await expect.poll(() => [fromA.bells, fromB.bells], soon).toEqual([[bellOf(ringA)], [bellOf(ringB)]])
      expect(await a.queue.stateOf([ringB])).toEqual(['missing'])
      expect(await a.queue.names()).toEqual([{ name: nameQueues(a.ledgerId).of(channel), channel }])
    })

    it('a worker that meets another ledger\'s job under its own short id stops, says so, and leaves the job', async () => {
      const { queue, ledgerId } = open()
      const { bells } = await collect(queue)
      const twin = `${ledgerId.slice(0, 8)}${randomUUID().slice(8)}`
      const foreign = ringOf(twin)
      await open({ ledgerId: twin }).queue.ring([foreign])
      await expect.poll(() => errors.some((line) => line.includes(`of ledger ${twin}`)), soon).toBe(true)
      await expect.poll(() => look(ledgerId).getJobState(jobId(foreign.runId, 1, 1)), soon).toBe('waiting')
      expect(bells).toEqual([])
    })

    it('agent names that a queue could not bear are delivered all the same, each to its own', async () => {
      const { queue, ledgerId } = open()
      const agents = ['a:b', 'split', 'runs', 'Übersetzer', 'x@y', '../x', '42', '{z}', 'A', 'a']
      const found = await Promise.all(agents.map(async (agent, seq) => {
        const on: Channel = { kind: 'agent', agent, version: '1:2' }
        await queue.ring([ringOf(ledgerId, { seq, channel: on })])
        return await collect(queue, { on })
      }))
      await expect.poll(() => found.map(({ bells }) => bells.map((bell) => bell.seq)), soon).toEqual(agents.map((_, seq) => [seq]))
    }, 60_000)

    it('1,000 rings in one bulk are all delivered', async () => {
      const { queue, ledgerId } = open()
      await queue.ring(Array.from({ length: 1_000 }, (_, seq) => ringOf(ledgerId, { seq })))
      const { bells } = await collect(queue, { concurrency: 50 })
      await expect.poll(() => bells.length, { timeout: 25_000, interval: 50 }).toBe(1_000)
      expect(new Set(bells.map((bell) => bell.seq)).size).toBe(1_000)
    })

    it('a job shows its newest progress and its lines, and its data holds ids only', async () => {
      const { queue, ledgerId } = open()
      const subscription = await queue.subscribe(channel, 1, (_: Doorbell, board: BoardJob) => {
        for (let i = 1; i <= 50; i++) board.progress(i)
        board.log('action fs.write committed')
        return Promise.resolve()
      })
      closeLater(() => subscription.close(1_000))
      const ring = ringOf(ledgerId, { title: 'lib/add.js' })
      await queue.ring([ring])
      const looking = look(ledgerId)
      const id = jobId(ring.runId, 1, 1)
      await expect.poll(async () => (await looking.getJob(id))?.progress, soon).toBe(50)
      await expect.poll(async () => (await looking.getJobLogs(id)).logs, soon).toEqual(['action fs.write committed'])
      const job = await looking.getJob(id)
      expect(job?.name).toBe('lib/add.js')
      expect(job?.data).toEqual(bellOf(ring))
    })

    it('a run has one job: delayed while it lives, completed when it ends, new when it goes on', async () => {
      const { queue, ledgerId } = open()
      const runId = randomUUID()
      const looking = look(ledgerId, nameQueues(ledgerId).runs)
      const at = (done: number) => ({ done, failed: 0, blocked: 0, total: 3 })
      const shown = async () => ({ state: await looking.getJobState(`run-${runId}`), progress: (await looking.getJob(`run-${runId}`))?.progress })
      await queue.showRun(runId, 'migrate lodash', at(1), false)
      expect(await shown()).toEqual({ state: 'delayed', progress: at(1) })
      await queue.showRun(runId, 'migrate lodash', at(3), true)
      await queue.showRun(runId, 'migrate lodash', at(3), true)
      expect(await shown()).toEqual({ state: 'completed', progress: at(3) })
      await queue.showRun(runId, 'migrate lodash', at(2), false)
      expect(await shown()).toEqual({ state: 'delayed', progress: at(2) })
      expect(await queue.names()).toEqual([{ name: nameQueues(ledgerId).runs, channel: undefined }])
    })
  })
}
