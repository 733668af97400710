/** A tool that takes longer before it sends than a send may wait can never send: said aloud in the end, not tried for ever. */
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { inputSchema, outputSchema, World, type EffectTool, type Input, type Output } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

const slowToBegin = (url: string) => defineTool<Input, Output>({
  name: 'slow-to-begin', version: '1', description: 'Prepares first.', effect: 'non-idempotent', timeout: 5_000, inputSchema, outputSchema,
  async execute({ subject }, { fetch }) {
    await new Promise((resolve) => setTimeout(resolve, 80))
    return (await (await fetch(`${url}/opaque/do/${subject}`, { method: 'POST', body: '{}' })).json()) as Output
  },
})

let world: World
let scripts: Scripts<{ slowToBegin: EffectTool }>
beforeAll(async () => {
  world = await World.open((_, effects) => [(scripts = new Scripts({ slowToBegin: slowToBegin(effects.url) })).agent], { workers: 1, timings: { sendWindowMs: 60 } })
})
afterAll(() => world.close())

test('an item whose call is always stopped at its send fails in the end, with the reason; nothing was sent', async () => {
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.slowToBegin({ subject: 'slow' }) } }, { policy: { maxFailures: 1 } })
  await world.workers.runIs(runId, ['failed'])
  const item = await world.item(runId)
  expect(item).toMatchObject({ status: 'failed', failures: 1 })
  expect(item.error).toContain('slow-to-begin was not sent')
  expect(world.effects.receipts({ subject: 'slow' })).toHaveLength(0)
})
