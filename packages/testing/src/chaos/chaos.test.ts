/** What a chaos run plans. The run itself is `npm run chaos`; docs/chaos.md says why it is not part of the tests yet. */
import { expect, test } from 'vitest'
import { Chance } from './chance.ts'
import { callsOf, planRun } from './run-plan.ts'

test('the same seed plans the same runs, and another seed others', () => {
  const plan = (seed: number) => JSON.stringify(Array.from({ length: 20 }, (_, n) => planRun(new Chance(seed), n)))
  expect(plan(1)).toBe(plan(1))
  expect(plan(1)).not.toBe(plan(2))
})

test('no two calls of a chaos run share a subject, so that an effect that is doubled is seen under whatever key it was sent', () => {
  const subjects = Array.from({ length: 200 }, (_, n) => callsOf(planRun(new Chance(7), n)).map((call) => call.subject)).flat()
  expect(new Set(subjects).size).toBe(subjects.length)
})
