/** Cases of class C in their fast form, where no test beside the harness holds them. The rule: a key is fixed and kept with its request before the first send, and never made anew. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { describeRedis, freshDatabase, type FreshDatabase } from '../../../../../tests/setup/fixtures.ts'
import { CaseStage, onStage, shortWindows, toolsByPromise, type CaseTool } from '../case-stage.ts'
import { playReworded } from './case-22-reworded.ts'
import { playOneKey } from './case-23-key.ts'
import { driftingTool, playKeyConflict, playSameRequest, playTwoOperations } from './case-24-same-request.ts'
import { dayTools, playKeyWindow, type DayTool } from './case-25-key-window.ts'
import { playBrokenStart } from './case-27-repeated-start.ts'
import { playItemKeys } from './case-29-item-ids.ts'
import { playRememberedJobs } from './case-30-remembered-jobs.ts'
import { playReversedOrder } from './case-32-occurrences.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('class C', () => {
  let database: FreshDatabase
  let stage: CaseStage<CaseTool | DayTool | 'drifting' | 'driftingRefused'>
  beforeAll(async () => {
    database = await freshDatabase()
    stage = await CaseStage.open({
      url: database.url,
      tools: (effects) => ({ ...toolsByPromise(effects, shortWindows), ...dayTools(effects), drifting: driftingTool(effects, 'drifting', false), driftingRefused: driftingTool(effects, 'drifting-refused', true) }),
    })
  })
  afterAll(async () => {
    await stage.close()
    await database.drop()
  })

  test('case 22: a call that was begun is settled in its own words before the item is asked again, and other words wait for a person', async () => {
    expect((await playReworded(stage)).problems).toEqual([])
  })

  test('case 23: a call has one key in the ledger and outside, on every send and every attempt', async () => {
    expect((await playOneKey(stage)).problems).toEqual([])
  })

  test('case 24: what is sent again after a crash is the recorded request to the letter', async () => {
    expect((await playSameRequest(stage)).problems).toEqual([])
  })

  test.for(['drifting', 'driftingRefused'] as const)('case 24: a receiver that finds another body under the key leaves the call to a person, never to a fresh key: %s', async (tool) => {
    expect((await playKeyConflict(stage, tool)).problems).toEqual([])
  })

  test('case 24: two operations on one object have two keys', async () => {
    expect((await playTwoOperations(stage)).problems).toEqual([])
  })

  test.for([['forgets', 23], ['forgets', 25], ['forgetsButTells', 25]] as const)('case 25: a receiver that keeps keys for a day is not called again after it, and is called again before: %s after %i hours', async ([tool, hours]) => {
    expect((await playKeyWindow(stage, tool, hours)).problems).toEqual([])
  })

  test('case 27: a start that breaks off half-way and is repeated is one run, with every item and every effect once', async () => {
    expect((await playBrokenStart(stage, database.url, 60)).problems).toEqual([])
  })

  test('case 29: items run whatever they are called', async () => {
    expect((await playItemKeys(stage, 'Postgres')).problems).toEqual([])
  })

  test('case 32: parallel calls without a meaning of their own that come in another order on replay stop the item, and no result is swapped', async () => {
    expect((await playReversedOrder(stage)).problems).toEqual([])
  })
})

describeRedis('class C with Redis', (redisUrl) => {
  test('case 29: items run whatever they are called, with a queue that refuses many names', async () => {
    const database = await freshDatabase()
    const outcome = await onStage({ url: database.url, redisUrl, tools: (effects) => toolsByPromise(effects, shortWindows) }, (stage) => playItemKeys(stage, 'Redis'))
    await database.drop()
    expect(outcome.problems).toEqual([])
  })

  test('case 30: a failed run that is resumed really runs, and so does one of the same id in a new database on the old Redis', async () => {
    const [one, other] = [await freshDatabase(), await freshDatabase()]
    const outcome = await playRememberedJobs([one.url, other.url], redisUrl)
    await Promise.all([one.drop(), other.drop()])
    expect(outcome.problems).toEqual([])
  })
})
