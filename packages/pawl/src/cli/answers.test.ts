import type { InboxItem } from '@pawl/client'
import { expect, test } from 'vitest'
import { answersTo, showEntry } from './answers.ts'
import { shownBy } from './shown.testsuite.ts'

const omitted = (bytes: number) => ({ $pawl: 'omitted', bytes })
const at = new Date('2026-11-30T08:00:00Z')
const doubt = (args: unknown, evidence: unknown[]): InboxItem => ({
  kind: 'in_doubt', runId: 'r', agent: 'a', itemSeq: 1, itemKey: 'k', answers: ['did_not'], answerableAt: at,
  action: {
    runId: 'r', id: 7, orderNo: 1, itemSeq: 1, key: 'key', tool: 't', toolVersion: '1', effect: 'non-idempotent', status: 'in_doubt', attempt: 1, sends: 1, refused: 0, args, result: null, evidence,
    appliedEvidence: null, error: null, undo: null, undoes: null, settledBy: null, timeoutMs: 1, keyExpiresAt: null, answerableAt: at, startedAt: at, committedAt: null,
  },
})

const shown = (entry: InboxItem): string => shownBy((out) => showEntry(out, entry))

test('of a doubt, what the list left out is told by its size, with the command that shows it whole; the answer names all of the evidence', () => {
  const entry = doubt(omitted(900_000), ['accepted', omitted(80_000), omitted(90_000)])
  const text = shown(entry)
  expect(text).toContain('args      (900,000 bytes, left out here)')
  expect(text).toContain('evidence  accepted\n            (2 entries, left out here)')
  expect(text).toContain('what is left out: pawl run action r 7')
  expect(text).not.toContain('$pawl')
  expect(answersTo(entry)).toEqual(['pawl settle r 7 --did-not --attempt 1 --evidence 3'])
})

test('of one that is shown whole nothing is said to be left out', () => {
  expect(shown(doubt({ to: 'ann' }, ['accepted']))).not.toContain('left out')
})
