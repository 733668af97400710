/** What the board may do to work that is there, the same on both stores. The board never makes BullMQ run a job again; the ledger decides. */
import type { Doorbell, Ring, Subscription } from '@pawl/queue'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claim, itemNow, until } from '../../../packages/ledger/src/stage.testsuite.ts'
import { Browser, openGround, seedRun, type Ground, type Reply, type Scene } from './ground.testsuite.ts'

const soon = { timeout: 25_000, interval: 100 }

export function boardContract(redisUrl?: string): void {
  let ground: Ground
  let olga: Browser
  let csrf: string
  let scene: Scene
  let queueName: string
  const bells: Doorbell[] = []
  let subscription: Subscription

  const ringOf = (seq: number, generation = 1): Ring =>
    ({ ledgerId: ground.ledgerId, runId: scene.runId, seq, generation, channel: { kind: 'agent', agent: 'mailing', version: '3' }, first: false, title: `item ${seq}` })
  const jobIdOf = (seq: number): string => `${scene.runId}-${seq}-1`
  const stateOf = (seq: number) => ground.queue.boardQueue(queueName).getJobState(jobIdOf(seq))
  const put = (path: string, headers: Record<string, string> = { 'x-pawl-csrf': csrf }): Promise<Reply> => olga.send('PUT', `/queues/api/queues/${encodeURIComponent(queueName)}${path}`, undefined, { accept: 'application/json', ...headers })
  const messageOf = (reply: Reply): string => (JSON.parse(reply.text) as { message: string }).message

  beforeAll(async () => {
    ground = await openGround(redisUrl)
    scene = await seedRun(ground.stage)
    olga = new Browser(ground.dashboard.url)
    await olga.login('olga')
    csrf = await olga.csrf()
    // Items 1 and 5 end as completed jobs, 2 and 3 as failed ones.
    subscription = await ground.queue.subscribe(ringOf(1).channel, 1, (bell) => {
      bells.push(bell)
      return bell.seq === 2 || bell.seq === 3 ? Promise.reject(new Error('the agent failed')) : Promise.resolve()
    })
    await ground.queue.ring([1, 2, 3, 5].map((seq) => ringOf(seq)))
    await until('four jobs have ended', async () => (await ground.queue.stateOf([1, 2, 3, 5].map((seq) => ringOf(seq)))).every((state) => state === 'ended'), 25_000)
    queueName = (await ground.queue.names()).find(({ channel }) => channel?.kind === 'agent')?.name ?? ''
    await ground.queue.showRun(scene.runId, 'mailing', { done: 1, failed: 2, blocked: 2, total: 8 }, false)
  })
  afterAll(async () => {
    await subscription?.close(0)
    await ground?.close()
  })

  /** Jobs go one by one: whatever the board had set going before this ring has reached the handler when it comes back. */
  async function bellsAfter(seq: number): Promise<Doorbell[]> {
    await ground.queue.ring([ringOf(seq)])
    await expect.poll(() => bells.some((bell) => bell.seq === seq), soon).toBe(true)
    await expect.poll(() => ground.queue.stateOf([ringOf(seq)]), soon).toEqual(['ended'])
    return bells
  }

  describe('the board', () => {
    test('shows this ledger’s queues as they appear, and one job per run', async () => {
      interface Shown { readonly name: string; readonly readOnlyMode: boolean; readonly jobs: { readonly progress: unknown; readonly externalUrl: { readonly href: string } }[] }
      const list = async (active: string, browser = olga) => (JSON.parse((await browser.get(`/queues/api/queues?activeQueue=${encodeURIComponent(active)}&page=1&jobsPerPage=10`, { accept: 'application/json' })).text) as { queues: Shown[] }).queues
      const runs = (await ground.queue.names()).find(({ channel }) => channel === undefined)?.name ?? ''
      await expect.poll(async () => (await list(runs)).map(({ name }) => name), soon).toEqual(expect.arrayContaining([queueName, runs]))
      const shown = (await list(runs)).find(({ name }) => name === runs)
      expect(shown?.jobs).toMatchObject([{ progress: { done: 1, failed: 2, blocked: 2, total: 8 }, externalUrl: { href: `/runs/${scene.runId}` } }])
      const work = (await list(queueName)).find(({ name }) => name === queueName)
      expect(work?.jobs.map(({ externalUrl }) => externalUrl.href)).toContain(`/runs/${scene.runId}/items/2`)
      const rita = new Browser(ground.dashboard.url)
      await rita.login('rita')
      expect((await list(queueName, rita)).filter(({ readOnlyMode }) => !readOnlyMode)).toEqual([])
    })

    test('a retry of finished work by URL runs nothing again and says why', async () => {
      const reply = await put(`/${jobIdOf(1)}/retry`)
      expect(reply.status).toBe(409)
      expect(messageOf(reply)).toContain('Item 1 is done: it is never run again')
      expect(await stateOf(1)).toBe('completed')
      expect((await bellsAfter(7)).filter(({ seq }) => seq === 1)).toHaveLength(1)
    })

    test('retry of all completed jobs is refused', async () => {
      const reply = await put('/retry/completed')
      expect(reply.status).toBe(403)
      expect(await stateOf(1)).toBe('completed')
    })

    test('a retry of an item that failed in a run under way is refused: the run goes on by itself', async () => {
      const reply = await put(`/${jobIdOf(2)}/retry`)
      expect(reply.status).toBe(409)
      expect(messageOf(reply)).toContain('once it has ended')
      expect(await stateOf(2)).toBe('failed')
    })

    test('a retry of a blocked item’s job releases the item in the ledger, and BullMQ does not run that job again', async () => {
      const before = await itemNow(ground.stage, { runId: scene.runId, seq: 5 })
      expect(before.status).toBe('blocked')
      expect((await put(`/${jobIdOf(5)}/retry`)).status).toBe(204)
      expect((await itemNow(ground.stage, { runId: scene.runId, seq: 5 })).status).not.toBe('blocked')
      expect(await stateOf(5)).toBe('completed')
      expect(bells.filter(({ seq, generation }) => seq === 5 && generation === 1)).toHaveLength(1)
      expect((await ground.direct.listEvents(scene.runId, { limit: 1_000 })).filter(({ kind }) => kind === 'item.released')).toMatchObject([{ itemSeq: 5, actor: 'olga', data: { note: 'retry on the board', reason: 'crash_loop' } }])
    })

    test.for([
      ['PUT', '/promote'], ['PUT', '/clean/completed'], ['PUT', '/empty'], ['PUT', '/obliterate'], ['PUT', '/pause'], ['PUT', '/resume'], ['POST', '/add'], ['PUT', '/concurrency'],
      ['PUT', '/JOB/clean'], ['PUT', '/JOB/promote'], ['PATCH', '/JOB/update-data'], ['PATCH', '/JOB/delay'], ['PATCH', '/JOB/priority'], ['PUT', '/rate-limit'],
    ] as const)('%s %s is off for everyone', async ([method, path]) => {
      await expect.poll(() => ground.queue.boardQueue(queueName).getActiveCount(), soon).toBe(0)
      const before = await ground.queue.boardQueue(queueName).getJobCounts()
      const reply = await olga.send(method, `/queues/api/queues/${encodeURIComponent(queueName)}${path.replace('JOB', jobIdOf(1))}`, undefined, { accept: 'application/json', 'x-pawl-csrf': csrf })
      expect(reply.status).toBe(403)
      expect(messageOf(reply)).toContain('Off here')
      expect(await ground.queue.boardQueue(queueName).getJobCounts()).toEqual(before)
      expect(await ground.queue.boardQueue(queueName).isPaused()).toBe(false)
    })

    test('“retry all” of an ended run’s failures resumes the run once, through the ledger; the old jobs stay as they ended', async () => {
      await ground.direct.cancel(scene.runId)
      const earlier = bells.length
      const reply = await put('/retry/failed')
      expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { retried: 2, skipped: 0 }])
      const items = await Promise.all([2, 3].map((seq) => ground.direct.getItem(scene.runId, seq)))
      expect(items.map(({ status }) => status)).toEqual(['pending', 'pending'])
      expect([await stateOf(2), await stateOf(3)]).toEqual(['failed', 'failed'])
      const events = await ground.direct.listEvents(scene.runId, { limit: 1_000 })
      expect(events.filter(({ kind }) => kind === 'run.resumed')).toHaveLength(1)
      // The ledger rings for them anew, under new generations; BullMQ itself rings for none of the old.
      const rungFor = (seq: number) => bells.slice(earlier).filter((bell) => bell.seq === seq).map(({ generation }) => generation > 1)
      await expect.poll(() => [rungFor(2), rungFor(3)], soon).toEqual([[true], [true]])
      // Their commits are in the journal of the next attempt: nothing is sent twice.
      const again = await claim(ground.stage, scene.runId, 2)
      expect(again.journal.map(({ key, status }) => [key, status])).toEqual([['key-2', 'committed']])
    })
  })
}
