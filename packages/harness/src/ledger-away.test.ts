/** Postgres is away exactly when an answer has to be recorded: the outside world is right, the ledger is late, and nothing is sent again. */
import { newRunId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openDoor, type Door } from '../../queue/src/door.testsuite.ts'
import { Scripts } from './scripted.testsuite.ts'
import { until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

describe.each([
  ['shorter than the lease: the same attempt goes on', 3_000, 15_000],
  ['longer than the lease: the attempt is over, its answer is not', 4_000, 2_000],
] as const)('an outage at the completion, %s (case 20)', (_, awayMs, leaseMs) => {
  let world: World
  let door: Door
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], {
      timings: { leaseMs }, via: async (url) => { door = await openDoor(url); return door.url },
    })
  })
  afterAll(async () => {
    await world.close()
    await door.shut()
  })

  test('an opaque call is committed once Postgres is back, was never failed or in doubt, and has one receipt', async () => {
    const id = newRunId()
    const caught: unknown[] = []
    const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    await scripts.start(world, {
      run: async ({ tools }) => {
        const first = await tools.opaque({ subject: 'late marker' }).catch((error: unknown) => { caught.push(error); return { ref: 'caught' } })
        await tools.keyed({ subject: 'goes on' }).catch((error: unknown) => { caught.push(error) })
        return { result: first.ref }
      },
    }, { id, policy: { maxFailures: 1 } })
    await fault.struck
    await door.shut()
    fault.thaw()
    await new Promise((resolve) => setTimeout(resolve, awayMs))
    await door.open()
    const seen = new Set<string>()
    await until('the item is done', async () => {
      const [action] = await world.actions(id)
      seen.add(action?.status ?? '')
      return (await world.item(id)).status === 'done'
    })
    expect((await world.workers.runIs(id)).status).toBe('completed')
    expect(world.effects.receipts({ subject: 'late marker' })).toHaveLength(1)
    expect(await world.applied('goes on')).toBe(1)
    expect(caught).toEqual([])
    expect(seen.has('failed')).toBe(false)
    expect(seen.has('in_doubt')).toBe(false)
    expect((await world.item(id)).failures).toBe(0)
  })
})
