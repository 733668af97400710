import { pauseRun, resumeRun } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool>>
beforeAll(async () => {
  world = await World.open((tools) => {
    scripts = new Scripts(tools)
    return [scripts.agent]
  })
})
afterAll(async () => { await world.close() })

test('a record that is being made while its run is paused holds its item only until it is made', async () => {
  let begun = 0
  let go: () => void = () => {}
  let stop: () => void = () => {}
  const stopped = new Promise<void>((resolve) => { stop = resolve })
  const runId = await scripts.start(world, {
    run: async ({ ctx }) => {
      ctx.signal.addEventListener('abort', () => stop(), { once: true })
      return { result: await ctx.record('slow', () => (++begun === 1 ? new Promise<string>((resolve) => { go = () => resolve('first') }) : 'second')) }
    },
  })
  await until('it is being made', () => begun === 1)
  await pauseRun(world.workers.ledger, runId, 'ann')
  // Its signal says that the attempt was told to stop; only then is the record made.
  await stopped
  go()
  await until('the item is handed back', async () => (await world.item(runId)).status === 'pending', 15_000)
  await resumeRun(world.workers.ledger, runId, 'ann')
  world.workers.touch(runId)
  await world.workers.runIs(runId)
  expect([begun, JSON.parse((await world.item(runId)).result ?? 'null')]).toEqual([2, 'second'])
})
