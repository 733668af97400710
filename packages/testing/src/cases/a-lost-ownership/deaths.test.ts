/** Cases of class A in which whole processes die, one after the other on one stage: whoever dies takes everything of its process along. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../../tests/setup/fixtures.ts'
import { shortTimings } from '../../virtual-workers.ts'
import { CaseStage, toolsByPromise, type CaseTool } from '../case-stage.ts'
import { playTwoCrashes } from './case-04-two-crashes.ts'
import { playPoisonCall, Poison } from './case-05-poison-call.ts'
import { playDeadWorker } from './case-10-dead-worker.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const poison = new Poison()
let database: FreshDatabase
let stage: CaseStage<CaseTool>
beforeAll(async () => {
  database = await freshDatabase()
  const windows = { timeoutMs: 250, settleWindowMs: 50 }
  stage = await CaseStage.open({
    url: database.url, workers: 1, timings: { ...shortTimings, sendWindowMs: 400 },
    // The keyed tool has time to hang; the others' windows are waited for.
    tools: (effects) => ({ ...toolsByPromise(effects, windows, poison.before), keyed: toolsByPromise(effects, { ...windows, timeoutMs: 5_000 }, poison.before).keyed }),
  })
})
afterAll(async () => {
  await stage.close()
  await database.drop()
})

test('case 04: an item whose process dies twice is done, no failure is counted, and every call is made once', async () => {
  expect((await playTwoCrashes(stage)).problems).toEqual([])
})

test.for(['read', 'keyed', 'lookup', 'opaque'] as const)('case 05: a call that ends its process each time sets its own item aside and no other: %s', async (tool) => {
  expect((await playPoisonCall(stage, poison, tool, 12)).problems).toEqual([])
})

test('case 08: attempts whose call hangs until the process is killed are counted when they begin, and end with a person', async () => {
  poison.hangsMs = 60
  expect((await playPoisonCall(stage, poison, 'keyed', 8)).problems).toEqual([])
})

test('case 10: the item of a dead worker goes on within one lease and one sweep', async () => {
  expect((await playDeadWorker(stage)).problems).toEqual([])
})
