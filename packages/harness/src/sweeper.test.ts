/** What one run does to the sweep of the others. */
import { newId, newRunId, PawlError } from '@pawl/core'
import { appendItems, openStream, readIdentity, sealRun, startRun } from '@pawl/ledger'
import type { Queue, Ring } from '@pawl/queue'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { Sweeper } from './sweeper.ts'
import { defaultTimings } from './timings.ts'
import { World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool>>
beforeAll(async () => {
  world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1 })
})
afterAll(() => world.close())

const openRun = async ({ workers: { ledger } }: World, agent: string, items = 1): Promise<string> => {
  const id = newRunId()
  await startRun(ledger, {
    id, namespace: 'test', key: null, digest: null, agent, agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null,
    input: 'null', labels: {}, policy: {}, createdBy: 'test', split: false,
  })
  const stream = (await openStream(ledger, id, 60_000)) ?? 0
  await appendItems(ledger, id, stream, Array.from({ length: items }, (_, i) => ({ key: `item-${i}`, payload: 'null' })))
  await sealRun(ledger, id, stream, null)
  return id
}

test('a run that cannot be rung for, because no queue can be named after its agent, does not keep the sweep from the others', async () => {
  for (let n = 0; n < 3; n++) await openRun(world, '')
  const runId = await scripts.start(world, { run: () => Promise.resolve() }, { rings: false })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
})

test('a sweep that breaks off at one run each time, because the queue drops the connection there, comes to every other run all the same', async () => {
  const idle = await World.open((tools) => [new Scripts(tools).agent], { workers: 0 })
  onTestFinished(() => idle.close())
  const { ledger, queue } = idle.workers
  const runs: string[] = []
  for (let n = 0; n < 9; n++) runs.push(await openRun(idle, 'nobody'))
  const [first] = runs
  const dropping = Object.create(queue, {
    ring: { value: async (rings: readonly Ring[]) => {
      if (rings.some((ring) => ring.runId === first)) throw new PawlError('QUEUE_AWAY', 'the connection was dropped', 'retry')
      await queue.ring(rings)
    } },
  }) as Queue
  const sweeper = new Sweeper({ ledger, queue: dropping, ledgerId: (await readIdentity(ledger)).id }, newId(), defaultTimings, () => {})
  for (let n = 0; n < 3; n++) await sweeper.cycle().catch(() => {})
  const rows = await idle.rows<{ run_id: string; rung: boolean }>('select run_id, dispatched_at is not null as rung from pawl.items')
  expect(rows.filter((row) => !row.rung).map((row) => row.run_id)).toEqual([first])
})

test('a backlog that waits long is asked for in portions, so that a slow queue does not keep the sweep from its end; and all of it, when jobs of it are lost', async () => {
  const idle = await World.open((tools) => [new Scripts(tools).agent], { workers: 0 })
  onTestFinished(() => idle.close())
  const { ledger, queue } = idle.workers
  for (let n = 0; n < 2; n++) await openRun(idle, 'nobody', 700)
  const asked: number[] = []
  let state: 'live' | 'missing' = 'live'
  const slow = Object.create(queue, {
    // What is past 500 would be answered after the deadline.
    stateOf: { value: (rings: readonly unknown[]) => {
      asked.push(rings.length)
      return rings.length > 500 ? Promise.reject(new PawlError('QUEUE_UNREACHABLE', 'no answer within the deadline', 'retry')) : Promise.resolve(rings.map(() => state))
    } },
  }) as Queue
  const sweeper = new Sweeper({ ledger, queue: slow, ledgerId: (await readIdentity(ledger)).id }, newId(), defaultTimings, () => {})
  await sweeper.cycle()
  await idle.rows(`update pawl.items set dispatched_at = dispatched_at - interval '1 hour'`)
  await sweeper.cycle()
  expect(asked).toEqual([500])
  state = 'missing'
  await sweeper.cycle()
  expect(await idle.rows('select generation, count(*)::integer as n from pawl.items group by 1')).toEqual([{ generation: 2, n: 1_400 }])
})
