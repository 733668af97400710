import type { Preview, Run } from '@pawl/client/http'
import type { RunStatus } from '@pawl/core'
import { expect, test } from 'vitest'
import { isSameForAll, sumOf, type RunPreview } from './bulk-preview.ts'

const one = (id: string, status: RunStatus, refusal?: string): RunPreview => ({ run: { id, status } as Run, preview: { status } as Preview, refusal })

test('a yes stands while runs go through their work by themselves; one that has ended is left alone and holds up nobody', () => {
  const shown = [one('a', 'splitting'), one('b', 'running'), one('c', 'running')]
  expect(isSameForAll(shown, [one('a', 'running'), one('b', 'finalizing'), one('c', 'completed', 'It is completed.')])).toBe(true)
})

test.each<[string, readonly RunPreview[]]>([
  ['somebody cancelled one that had failed', [one('a', 'cancelled'), one('b', 'failed')]],
  ['one goes on already', [one('a', 'running'), one('b', 'failed')]],
  ['one would be told that was shown to be left alone', [one('a', 'failed'), one('c', 'failed')]],
  ['none is left', [one('a', 'compensated', 'It is compensated.'), one('b', 'compensated', 'It is compensated.')]],
])('a yes does not stand when %s', (_, now) => {
  expect(isSameForAll([one('a', 'failed'), one('b', 'failed'), one('c', 'compensated', 'It is compensated.')], now)).toBe(false)
})

const listed = { action: 1, itemSeq: 1, tool: 't', key: 'k', status: 'started', why: '' } as const
const preview: Preview = {
  dryRun: true, verb: 'cancel', runId: 'r', status: 'running', isAllowed: true, items: { again: 0, stopped: 2, kept: 0 }, skipped: 0,
  calledAgain: [listed], verified: [listed], asked: [listed], undone: [], residue: [], counts: { calledAgain: 5_000, verified: 1_001, asked: 20_000, undone: 0, residue: 0 }, isCut: true,
}

test('the sum over runs is of all calls, not of those that are listed', () => {
  const each = { run: {} as Run, preview, refusal: undefined }
  expect(sumOf('cancel', [each, each])).toBe('2 runs ended, 4 items stopped; 10,000 calls called again under their keys, 2,002 verified, 40,000 asked of a person.')
})
