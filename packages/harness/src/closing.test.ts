/** How a run comes to its end, forward and back, when the one who should have seen to it is gone or something is still open. */
import { newRunId } from '@pawl/core'
import { startCompensation } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool>>
beforeAll(async () => {
  world = await World.open((tools) => [(scripts = new Scripts(tools)).agent])
})
afterAll(() => world.close())

test('a run whose last item ended in a worker that died before it said so is finalized all the same', async () => {
  const runId = newRunId()
  const fault = world.workers.fault({ runId, at: 'after-finish', seq: 1, does: 'freeze' })
  await scripts.start(world, { run: () => Promise.resolve() }, { id: runId })
  await fault.struck
  expect((await world.workers.runIs(runId, ['completed'], 20_000)).status).toBe('completed')
})

test('nothing is undone while a call of the run is in doubt; answered, all is undone in its order', async () => {
  world.effects.program('doubtful', [{ drop: 'after' }])
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.keyed({ subject: 'sure' }); await tools.opaque({ subject: 'doubtful' }) } })
  await world.blocked(runId, 'in_doubt')
  expect((await startCompensation(world.workers.ledger, runId, 'ann', null)).outcome).toBe('started')
  world.workers.touch(runId)
  const undone = () => world.effects.receipts({ op: 'undo' }).map((receipt) => receipt.subject)
  await until('the compensation waits for a person, or undoes', async () => undone().length > 0 || (await world.items(runId)).some((item) => item.kind === 'compensate' && item.status === 'blocked'))
  expect(undone()).toEqual([])
  await world.answer(runId, 'happened', '{"ref":"seen"}')
  expect((await world.workers.runIs(runId)).status).toBe('compensated')
  expect(undone()).toEqual(['doubtful', 'sure'])
})

test('the wait before verify is the send window longer than timeout and settle window: an effect that lands then is found, and undone', async () => {
  // Stands for a send that began at the end of the old holder's window: nothing tells the two apart. The tool's timeout and settle window are 2.2 s, the window is 1 s.
  world.effects.program('lands late', [{ delayBeforeMs: 3_000 }])
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.lookup({ subject: 'lands late' }) } })
  await world.effects.received('lands late', 1)
  expect((await startCompensation(world.workers.ledger, runId, 'ann', null)).outcome).toBe('started')
  world.workers.touch(runId)
  expect((await world.workers.runIs(runId)).status).toBe('compensated')
  await until('the effect has landed', async () => (await world.applied('lands late')) === 1)
  expect(await world.applied('lands late', 'undo')).toBe(1)
})
