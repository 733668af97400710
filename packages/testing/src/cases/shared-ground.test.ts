/** Fast forms of cases of the classes D, H and I that can share one ground: the code of the literal forms, with smaller numbers. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { CaseGround } from './case-ground.ts'
import { case34 } from './d-queue-and-ledger/case-34-enqueue-around-the-commit.ts'
import { case41 } from './d-queue-and-ledger/case-41-submitted-again.ts'
import { case42 } from './d-queue-and-ledger/case-42-sibling-at-work.ts'
import { case48 } from './d-queue-and-ledger/case-48-rate-limited.ts'
import { fastServices } from './fast-services.testsuite.ts'
import { Findings } from './findings.ts'
import { case78 } from './h-compensation/case-78-undo-fails-half-way.ts'
import { case81 } from './h-compensation/case-81-which-one-is-newest.ts'
import { case86 } from './i-closing/case-86-cancelled-in-flight.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const services = fastServices()
let ground: CaseGround
beforeAll(async () => { ground = await CaseGround.open(await services.freshDatabase(), { windows: { timeoutMs: 20_000 } }) })
afterAll(async () => { await ground.close() })

async function problemsOf(play: (found: Findings) => Promise<void>): Promise<readonly string[] | undefined> {
  const found = new Findings()
  await play(found)
  return found.outcome().problems
}

describe.concurrent('beside each other', () => {
  test('case 34: a doorbell that comes before the commit, after a rollback, or never: each item once, rolled back ones never', async () => {
    expect(await problemsOf((found) => case34(ground, found, { commitDelayMs: 300 }))).toEqual([])
  })

  test('case 41: a run submitted again half done and done is one run, each item once', async () => {
    expect(await problemsOf((found) => case41(ground, found, { items: 10 }))).toEqual([])
  })

  test('case 42: a failed item neither closes nor undoes its run while a sibling is inside a call', async () => {
    expect(await problemsOf((found) => case42(ground, found, { callMs: 1_000 }))).toEqual([])
  })

  test('case 48: many more refusals for too many requests than there are attempts spend neither failures nor crash budget, and the call is made once', async () => {
    expect(await problemsOf((found) => case48(ground, found, { refusals: 12, retryAfterSeconds: 0 }))).toEqual([])
  })

  test('case 78: an undo that answers 500 for ever stops what comes after it, is named, and goes on in its order once it is mended', async () => {
    expect(await problemsOf((found) => case78(ground, found))).toEqual([])
  })

  test('case 81: the order of undoing is the stored one, whatever times the calls carry', async () => {
    expect(await problemsOf((found) => case81(ground, found))).toEqual([])
  })

  test('case 86: a run cancelled around a call that lands later stays cancelled, and the call is offered for compensation', async () => {
    expect(await problemsOf((found) => case86(ground, found, { landsAfterMs: 800 }))).toEqual([])
  })
})
