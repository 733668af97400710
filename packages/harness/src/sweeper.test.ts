/** What one run does to the sweep of the others. */
import { newRunId } from '@pawl/core'
import { appendItems, openStream, sealRun, startRun } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool>>
beforeAll(async () => {
  world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1 })
})
afterAll(() => world.close())

test('a run that cannot be rung for, because no queue can be named after its agent, does not keep the sweep from the others', async () => {
  for (let n = 0; n < 3; n++) {
    const id = newRunId()
    await startRun(world.workers.ledger, {
      id, namespace: 'test', key: null, digest: null, agent: '', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null,
      input: 'null', labels: {}, policy: {}, createdBy: 'test', split: false,
    })
    const stream = (await openStream(world.workers.ledger, id, 60_000)) ?? 0
    await appendItems(world.workers.ledger, id, stream, [{ key: 'only', payload: 'null' }])
    await sealRun(world.workers.ledger, id, stream, null)
  }
  const runId = await scripts.start(world, { run: () => Promise.resolve() }, { rings: false })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
})
