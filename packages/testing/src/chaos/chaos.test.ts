/** The small form of `npm run chaos`: a few hundred faults from a fixed seed on every test run. */
import { expect, test } from 'vitest'
import { freshDatabase } from '../../../../tests/setup/fixtures.ts'
import { Chance } from './chance.ts'
import { callsOf, planRun } from './run-plan.ts'
import { runChaos } from './run-chaos.ts'

test('the same seed plans the same runs, and another seed others', () => {
  const plan = (seed: number) => JSON.stringify(Array.from({ length: 20 }, (_, n) => planRun(new Chance(seed), n)))
  expect(plan(1)).toBe(plan(1))
  expect(plan(1)).not.toBe(plan(2))
})

test('no two calls of a chaos run share a subject, so that an effect that is doubled is seen under whatever key it was sent', () => {
  const subjects = Array.from({ length: 200 }, (_, n) => callsOf(planRun(new Chance(7), n)).map((call) => call.subject)).flat()
  expect(new Set(subjects).size).toBe(subjects.length)
})

test('through hundreds of crashes, freezes, lost answers and killed backends nothing is sent twice, lost, or asked for needlessly', async () => {
  const database = await freshDatabase()
  try {
    const { problems, ...report } = await runChaos({ url: database.url, faults: 300, seed: 1, deadlineMs: 90_000 })
    expect(problems, JSON.stringify(report)).toEqual([])
    expect(report).toMatchObject({ duplicates: 0, lost: 0, violations: 0, needlessEscalations: 0, ok: true })
    expect(report.faults).toBeGreaterThanOrEqual(300)
    expect(report.knownHole).toBeGreaterThan(0)
  } finally {
    await database.drop()
  }
}, 240_000)
