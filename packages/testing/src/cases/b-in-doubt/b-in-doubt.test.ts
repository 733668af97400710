/** Cases of class B in their fast form, where no test beside the harness holds them. The rule: after an intent only evidence decides, never time or an exception. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../../tests/setup/fixtures.ts'
import { CaseStage, shortWindows, toolsByPromise, type CaseTool } from '../case-stage.ts'
import { playCrashPoints } from './case-11-crash-points.ts'
import { playNeverArrived } from './case-14-not-found.ts'
import { oddDeadlines, playOddDeadline } from './case-15-deadlines.ts'
import { playWaitingSibling } from './case-17-siblings.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

let database: FreshDatabase
let stage: CaseStage<CaseTool>
beforeAll(async () => {
  database = await freshDatabase()
  stage = await CaseStage.open({ url: database.url, tools: (effects) => toolsByPromise(effects, shortWindows) })
})
afterAll(async () => {
  await stage.close()
  await database.drop()
})

describe.concurrent('class B', () => {
  test('case 11: an attempt that dies between the arrival of its request and the answer leaves one effect for every class, and a person is asked about an opaque call only', async () => {
    expect((await playCrashPoints(stage, ['after-send'], 1, 4)).problems).toEqual([])
  })

  test('case 14: a call that a lookup still does not find when its settle window is over is sent again', async () => {
    expect((await playNeverArrived(stage)).problems).toEqual([])
  })

  test.for(Object.entries(oddDeadlines))('case 15: a lease with %s is taken over, a keyed call is sent once and an opaque one waits for a person, however old it is', async ([, end]) => {
    const outcomes = await Promise.all([playOddDeadline(stage, 'keyed', end), playOddDeadline(stage, 'opaque', end)])
    expect(outcomes.flatMap((outcome) => outcome.problems)).toEqual([])
  })
})

// Last, for it ends every process there is.
test('case 17: siblings of a call that waits for a person do not run again, though every process was replaced meanwhile', async () => {
  expect((await playWaitingSibling(stage)).problems).toEqual([])
})
