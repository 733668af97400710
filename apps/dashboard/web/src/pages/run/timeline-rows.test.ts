import type { Action } from '@pawl/client/http'
import { expect, test } from 'vitest'
import { endOf, placeOf, rowsOf, spanOf } from './timeline-rows.ts'

const action = (id: number, itemSeq: number, startedAt: number, committedAt: number | null, status: Action['status'] = committedAt === null ? 'started' : 'committed'): Action => ({
  runId: 'r', id, orderNo: id, itemSeq, key: `k${id}`, tool: 't', toolVersion: '1', effect: 'idempotent', status, attempt: 1, sends: 1, refused: 0, args: {}, result: null, evidence: [], appliedEvidence: undefined,
  error: null, undo: undefined, undoes: null, settledBy: null, timeoutMs: 1, keyExpiresAt: null, answerableAt: null, startedAt: new Date(startedAt), committedAt: committedAt === null ? null : new Date(committedAt),
})

test('calls stand below their item, items in the order of their first call', () => {
  const rows = rowsOf([action(1, 7, 0, 10), action(2, 3, 5, 20), action(3, 7, 10, 30)])
  expect(rows.map((row) => (row.kind === 'item' ? `item ${row.seq} (${row.calls})` : row.action.id))).toEqual(['item 7 (2)', 1, 3, 'item 3 (1)', 2])
})

test('a call under way reaches until now, one that came to nothing is the moment of its start', () => {
  const open = action(1, 1, 100, null)
  const refused = action(2, 1, 150, null, 'failed')
  expect([endOf(open, 500), endOf(refused, 500)]).toEqual([500, 150])
  expect(spanOf([open, refused], 500)).toEqual({ from: 100, to: 500 })
})

test('a span is never empty, and nothing is placed outside it', () => {
  expect(spanOf([], 500)).toEqual({ from: 499, to: 500 })
  const span = spanOf([action(1, 1, 100, 100)], 500)
  expect(span.to).toBeGreaterThan(span.from)
  expect([placeOf(0, { from: 100, to: 200 }), placeOf(150, { from: 100, to: 200 }), placeOf(900, { from: 100, to: 200 })]).toEqual([0, 50, 100])
})
