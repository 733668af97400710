/** Cases of class A in their fast form. The rule: who cannot prove current ownership neither sends nor writes. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { describeRedis, freshDatabase, type FreshDatabase } from '../../../../../tests/setup/fixtures.ts'
import { startFaultProxy, type FaultProxy } from '../../fault-proxy.ts'
import { CaseStage, onStage, shortWindows, toolsByPromise, type CaseTool } from '../case-stage.ts'
import { playSlowWorker } from './case-01-slow-worker.ts'
import { fastCutOff, playCutFromLedger, playCutFromQueue } from './case-02-cut-off-worker.ts'
import { patientTool, playLateAnswer } from './case-06-late-answer.ts'
import { playStoppedDatabase } from './case-10-dead-worker.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('class A', () => {
  const told = new Set<string>()
  let database: FreshDatabase
  let proxy: FaultProxy
  let stage: CaseStage<CaseTool | 'patient'>
  beforeAll(async () => {
    database = await freshDatabase()
    proxy = await startFaultProxy(database.url)
    stage = await CaseStage.open({ url: proxy.url, tools: (effects) => ({ ...toolsByPromise(effects, shortWindows), patient: patientTool(effects, told, 300) }) })
  })
  afterAll(async () => {
    await stage.close()
    await proxy.close()
    await database.drop()
  })

  test.for(['keyed', 'opaque'] as const)('case 01: a worker that stands still past its lease sends nothing when it wakes, and its call is made once by the next: %s', async (tool) => {
    expect((await playSlowWorker(stage, tool, 1.2)).problems).toEqual([])
  })

  test('case 06: a call past its deadline is told to stop, is never failed or sent again, and its late answer settles it', async () => {
    expect((await playLateAnswer(stage, told, 900)).problems).toEqual([])
  })
})

describe('class A, cut off', () => {
  let database: FreshDatabase
  beforeAll(async () => { database = await freshDatabase() })
  afterAll(() => database.drop())

  test('case 02: a worker cut off from the ledger makes no further call, and the next holder makes the rest once each', async () => {
    expect((await playCutFromLedger(database.url, fastCutOff)).problems).toEqual([])
  })

  test('case 10: when the database stops under twenty items and comes back, none is orphaned and each call is made once', async () => {
    const proxy = await startFaultProxy(database.url)
    const stop = async (): Promise<void> => {
      proxy.shut()
      await new Promise((resolve) => setTimeout(resolve, 500))
      proxy.heal()
    }
    const outcome = await onStage({ url: proxy.url, tools: (effects) => toolsByPromise(effects, { timeoutMs: 5_000, settleWindowMs: 50 }) }, (stage) => playStoppedDatabase(stage, stop))
    await proxy.close()
    expect(outcome.problems).toEqual([])
  })
})

describeRedis('class A with Redis', (redisUrl) => {
  let database: FreshDatabase
  beforeAll(async () => { database = await freshDatabase() })
  afterAll(() => database.drop())

  test('case 02: a worker cut off from Redis keeps its item and finishes it in one attempt', async () => {
    expect((await playCutFromQueue(database.url, redisUrl, fastCutOff)).problems).toEqual([])
  })
})
