/** The key of a call: its place in the item, or its meaning where the tool states one; never the attempt, never the words. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool> & { byMeaning: EffectTool }>
beforeAll(async () => {
  world = await World.open((tools, effects) => {
    scripts = new Scripts({ ...tools, byMeaning: effectTool(effects, { name: 'by-meaning', via: 'opaque', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject] }) })
    return [scripts.agent]
  })
})
afterAll(() => world.close())

const completed = async (runId: string) => expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })

test('a call has one key on every attempt of its item', async () => {
  let tries = 0
  const runId = await scripts.start(world, {
    run: async ({ tools }) => {
      await tools.read({ subject: 'every attempt' })
      if (++tries < 3) throw new Error('again')
    },
  })
  await completed(runId)
  expect(tries).toBe(3)
  expect(await world.actions(runId)).toHaveLength(1)
})

test('two calls of one tool with the same args are two calls', async () => {
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'twice meant' }); await tools.opaque({ subject: 'twice meant' }) } })
  await completed(runId)
  expect(world.effects.receipts({ subject: 'twice meant' })).toHaveLength(2)
})

test('a call whose tool states its meaning is one call, wherever in the order it comes again', async () => {
  const runId = await scripts.start(world, {
    run: async ({ tools }) => {
      await tools.byMeaning({ subject: 'first of two' })
      await tools.byMeaning({ subject: 'meant once' })
      await tools.byMeaning({ subject: 'meant once' })
    },
  })
  await completed(runId)
  expect(world.effects.receipts({ subject: 'meant once' })).toHaveLength(1)
})

test('a call that the agent words anew after a failure keeps its key: it is a conflict, not a second effect', async () => {
  let attempt = 0
  const runId = await scripts.start(world, {
    run: async ({ tools }) => {
      await tools.opaque({ subject: 'planned again', note: `wording ${++attempt}` })
      if (attempt === 1) throw new Error('the plan is made anew')
    },
  })
  await until('the item ends or waits', async () => ['blocked', 'done', 'failed'].includes((await world.item(runId)).status))
  expect(await world.item(runId)).toMatchObject({ status: 'blocked', blocked_reason: 'conflict' })
  expect(world.effects.receipts({ subject: 'planned again' })).toHaveLength(1)
})
