import { RUN_STATUSES } from '@pawl/core'
import { expect, test } from 'vitest'
import { allowedVerbs } from './run-verbs.ts'

test('each state offers what it can be told, and nothing it would refuse', () => {
  const offered = Object.fromEntries(RUN_STATUSES.map((status) => [status, allowedVerbs({ status, paused: false }).join(' ')]))
  expect(offered).toEqual({
    splitting: 'pause cancel', running: 'pause cancel compensate', finalizing: 'pause cancel compensate', completed: 'compensate', completed_with_failures: 'resume compensate',
    failed: 'resume compensate', cancelled: 'resume compensate', compensating: 'pause', compensated: '', compensated_with_residue: 'compensate',
  })
  expect(allowedVerbs({ status: 'running', paused: true })).toEqual(['resume', 'cancel', 'compensate'])
})
