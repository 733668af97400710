import { expect, test } from 'vitest'
import { countKeptSends } from './kept-sends.ts'
import type { SeenRow } from './witness.ts'

const row = (at_ms: number, over: Partial<SeenRow>): SeenRow => ({ n: 1, at_ms, run_id: 'run', seq: 1, kind: 'work', status: 'in_progress', epoch: 1, worker_id: 'w1', barren: 0, tool: null, key: null, ...over })
const call = (at_ms: number, tool: string, status: string, epoch = 2): SeenRow => row(at_ms, { kind: null, worker_id: null, tool, key: tool, status, epoch })
const rows = [
  row(100, {}), call(200, 'asked', 'awaiting_approval', 1), call(210, 'staged', 'staged', 1), row(300, { status: 'pending', worker_id: null }),
  row(400, { epoch: 2, worker_id: 'w2' }), call(500, 'asked', 'started'), call(510, 'staged', 'started'), call(520, 'keyed', 'started'), call(600, 'asked', 'started', 3), call(610, 'staged', 'started', 3),
]

test('counts the first send of each kept call, and an approved one only where the attempt before was struck while it had the item', () => {
  expect(countKeptSends(rows, [{ workerId: 'w1', at: 250 }])).toEqual({ staged: 1, approvedAfterTakeover: 1 })
  for (const strike of [{ workerId: 'w1', at: 350 }, { workerId: 'w1', at: 50 }, { workerId: 'w2', at: 250 }]) expect(countKeptSends(rows, [strike])).toEqual({ staged: 1, approvedAfterTakeover: 0 })
})
