import { defineTool } from '@pawl/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { judgeCrashes } from './crash-everywhere-judge.ts'
import type { Played } from './crash-everywhere-play.ts'

const mail = defineTool({ name: 'mail', version: '1', description: '', effect: 'non-idempotent', inputSchema: z.null(), outputSchema: z.null(), execute: () => Promise.resolve(null) })
const played = (given: Partial<Played> = {}): Played => ({
  point: { at: 'after-answer', nth: 1 }, hasCrashed: true, end: 'completed', why: { reason: '', tool: '' }, lies: [], keys: [{ tool: mail, began: 1, returned: 1, refused: 0, result: null }], ...given,
})
const undisturbed = played({ point: null, hasCrashed: false })

test('a crash that changes nothing is no problem', () => expect(judgeCrashes(undisturbed, [played()])).toEqual([]))

test('one problem is told once, with every crash that showed it', () => {
  const twice = { keys: [{ tool: mail, began: 2, returned: 2, refused: 0, result: null }] }
  expect(judgeCrashes(undisturbed, [played(twice), played({ ...twice, point: { at: 'before-finish', nth: 2 } })])).toMatchObject([
    { kind: 'fires-twice', tool: 'mail', crashedAt: ['after-answer 1', 'before-finish 2'] }])
})

test('a run that ends otherwise than undisturbed is stuck, with the reason', () => {
  expect(judgeCrashes(undisturbed, [played({ end: 'failed', why: { reason: 'the file is there already', tool: '' } })])).toMatchObject([{ kind: 'stuck', what: expect.stringContaining('the file is there already') as string }])
})
