/** What both backends promise. Run by `redis.test.ts` and `postgres.test.ts` against real servers. */
import { jobId, PawlError, waitMs } from '@pawl/core'
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectQueue } from './connect.ts'
import { openDoor, type Door } from './door.testsuite.ts'
import { nameQueues } from './names.ts'
import type { BoardJob, Channel, Doorbell, Queue, Ring, Subscription } from './port.ts'
import type { JobQueue } from './store.ts'

export interface StoreUnderTest {
  readonly backend: 'redis' | 'postgres'
  /** A store to use, and how to leave it as it was found. */
  prepare(): Promise<{ url: string; leave: (ledgerIds: readonly string[]) => Promise<void> }>
  /** Loses all that this ledger has in the store, tables included. */
  empty(url: string, ledgerId: string): Promise<void>
  /** The queue as BullMQ's own tools see it. */
  look(url: string, ledgerId: string, name: string): JobQueue
}

const channel: Channel = { kind: 'agent', agent: 'cjs-to-esm', version: '1.0.0' }
const soon = { timeout: 10_000, interval: 20 }
const afterOutage = { timeout: 30_000, interval: 100 }

export function queueContract(store: StoreUnderTest): void {
  describe(`the queue on ${store.backend}`, () => {
    const closers: (() => Promise<void>)[] = []
    let url = ''
    const ledgerIds: string[] = []
    let prepared: Awaited<ReturnType<typeof store.prepare>> | undefined
    beforeAll(async () => { prepared = await store.prepare(); url = prepared.url })
    afterAll(() => prepared?.leave(ledgerIds))
    afterEach(async () => { for (const close of closers.splice(0).toReversed()) await close() })

    const errors: string[] = []
    function open(options: { at?: string; ledgerId?: string } = {}): { queue: Queue; ledgerId: string } {
      const ledgerId = options.ledgerId ?? randomUUID()
      ledgerIds.push(ledgerId)
      const queue = connectQueue({ backend: store.backend, url: options.at ?? url, ledgerId, onError: (error, where) => { errors.push(`${where}: ${error.message}`) } })
      closers.push(() => queue.close())
      return { queue, ledgerId }
    }
    const ringOf = (ledgerId: string, more: Partial<Ring> = {}): Ring =>
      ({ ledgerId, runId: randomUUID(), seq: 1, generation: 1, channel, first: false, title: 'a file', ...more })
    async function collect(queue: Queue, more: { concurrency?: number; on?: Channel } = {}): Promise<{ bells: Doorbell[]; subscription: Subscription }> {
      const bells: Doorbell[] = []
      const subscription = await queue.subscribe(more.on ?? channel, more.concurrency ?? 1, (bell) => { bells.push(bell); return Promise.resolve() })
      closers.push(() => subscription.close(1_000))
      return { bells, subscription }
    }
    function look(ledgerId: string, name = nameQueues(ledgerId).of(channel)): JobQueue {
      const looking = store.look(url, ledgerId, name)
      looking.on('error', () => undefined)
      closers.push(() => looking.close())
      return looking
    }
    async function door(): Promise<Door> {
      const opened = await openDoor(url)
      closers.push(() => opened.shut())
      return opened
    }
    const bellOf = ({ ledgerId, runId, seq, generation }: Ring): Doorbell => ({ ledgerId, runId, seq, generation })
    const ended = (queue: Queue, ring: Ring) => expect.poll(() => queue.stateOf([ring]), soon).toEqual(['ended'])

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
      closers.push(() => subscription.close(1_000))
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
      closers.push(() => subscription.close(1_000))
      await queue.ring(Array.from({ length: 12 }, (_, seq) => ringOf(ledgerId, { seq })))
      await expect.poll(() => done, soon).toBe(12)
      expect(most).toBe(3)
    })

    it('after pause the handler under way finishes and another worker gets what comes next', async () => {
      const { queue, ledgerId } = open()
      const seen: number[] = []
      let [started, finish] = [(): void => undefined, (): void => undefined]
      const hasStarted = new Promise<void>((resolve) => { started = resolve })
      const mayFinish = new Promise<void>((resolve) => { finish = resolve })
      const paused = await queue.subscribe(channel, 2, async (bell) => { seen.push(bell.seq); started(); await mayFinish; seen.push(-bell.seq) })
      closers.push(() => paused.close(1_000))
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
      await store.empty(url, ledgerId)
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
      closers.push(() => subscription.close(1_000))
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
      await store.empty(url, ledgerId)
      const queues = Array.from({ length: 6 }, () => open({ ledgerId }).queue)
      await Promise.all(queues.map((queue) => queue.ready()))
      const { bells } = await collect(queues[0] as Queue)
      const rings = queues.map((_, seq) => ringOf(ledgerId, { seq }))
      await Promise.all(queues.map((queue, i) => queue.ring([rings[i] as Ring])))
      await expect.poll(() => bells.map((bell) => bell.seq).toSorted((a, b) => a - b), soon).toEqual([0, 1, 2, 3, 4, 5])
    })
  })
}
