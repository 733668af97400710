import type { Preview } from '@pawl/client'
import { expect, test } from 'vitest'
import { previewInShort, showPreview } from './preview.ts'
import { shownBy } from './shown.testsuite.ts'

const call = { action: 1, itemSeq: 1, tool: 't', key: 'k', status: 'committed', why: 'its inverse is known' } as const
/** Fifty thousand undos, of which a thousand are listed. */
const big: Preview = {
  dryRun: true, verb: 'compensate', runId: 'r', status: 'completed', isAllowed: true, items: { again: 0, stopped: 0, kept: 7 }, skipped: 0,
  calledAgain: [], verified: [], asked: [], undone: Array.from({ length: 1_000 }, () => call), residue: [call], counts: { calledAgain: 0, verified: 0, asked: 3, undone: 50_000, residue: 1 }, isCut: true,
}

const shown = (preview: Preview): string => shownBy((out) => showPreview(out, preview))

test('in a line for each of many runs the counts are of all calls, not of those that are listed', () => {
  expect(previewInShort(big)).toBe('3 asked, 50,000 undone, 1 left standing')
})

test('of one run, too, and what is not listed is said', () => {
  const text = shown(big)
  expect(text).toContain('undo, in this order: 50,000 calls')
  expect(text).toContain('and 49,990 more (--json shows the first 1,000)')
  expect(text).toContain('ask a person about: 3 calls')
  expect(shown({ ...big, undone: big.undone.slice(0, 12), counts: { ...big.counts, undone: 12 } })).toContain('and 2 more (--json shows all)')
})
