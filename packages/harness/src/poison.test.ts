/** An item that kills every process that touches it condemns nobody but itself, and not for ever (cases 5 and 8, hole 23). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

describe('a poison item', () => {
  let world: World
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1, concurrency: 10, timings: { leaseMs: 2_000, sweepEveryMs: 100 } })
  })
  afterAll(() => world.close())

  test('among thirty: twenty-nine are done, it alone is blocked crash_loop after five deaths, and no effect is doubled', async () => {
    let deaths = 0
    const died: Promise<unknown>[] = []
    const runId = await scripts.start(world, {
      run: async ({ payload, tools, ctx }) => {
        if (payload === 7) {
          deaths++
          world.workers.kill()
          died.push(world.workers.startWorker())
          return await new Promise<never>(() => {})
        }
        // Long enough to be under way, without progress of its own, when the process dies.
        if (ctx.attempt < 3) await new Promise((resolve) => setTimeout(resolve, 300))
        await tools.keyed({ subject: `neighbour ${String(payload)}` })
      },
    }, { items: Array.from({ length: 30 }, (_, n) => ({ key: `${n}`, payload: n })) })
    await until('it is blocked', async () => (await world.items(runId)).some((item) => item.blocked_reason === 'crash_loop'), 100_000)
    await Promise.all(died)
    expect(deaths).toBe(5)
    await until('the others are done', async () => (await world.items(runId)).filter((item) => item.status === 'done').length === 29, 60_000)
    const blocked = (await world.items(runId)).filter((item) => item.status === 'blocked')
    expect(blocked.map((item) => [item.key, item.blocked_reason])).toEqual([['7', 'crash_loop']])
    for (let n = 0; n < 30; n++) expect(await world.applied(`neighbour ${n}`)).toBe(n === 7 ? 0 : 1)
  }, 150_000)
})

describe('a suspect', () => {
  let world: World
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1, concurrency: 10, timings: { alonePatienceMs: 120_000 } })
  })
  afterAll(() => world.close())

  test('that waited out a doubt goes on beside an attempt that hangs, and asks for no empty process again', async () => {
    // Its process dies in a call that may not be made twice at once: what became of it has to be waited for.
    world.effects.program('died', [{ hold: 'after' }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.keyedSlow({ subject: 'died' }) } })
    await until('it is sent', () => world.effects.receipts({ subject: 'died' }).length === 1)
    world.workers.kill()
    await world.rows('update pawl.items set barren_attempts = 2 where run_id = $1', [runId])
    await world.workers.startWorker()
    await until('it is claimed again, as a suspect', async () => (await world.item(runId)).attempts === 2)

    let isHanging = false
    let goesOn: () => void = () => {}
    const hung = await scripts.start(world, { run: async () => { isHanging = true; await new Promise<void>((resolve) => { goesOn = resolve }) } })
    await until('another attempt is under way while it waits', () => isHanging)
    expect((await world.item(runId)).status).toBe('in_progress')
    expect(await world.workers.runIs(runId, ['completed'], 30_000)).toMatchObject({ status: 'completed' })
    goesOn()
    await world.workers.runIs(hung)
    expect(await world.applied('died')).toBe(1)
  }, 90_000)
})
