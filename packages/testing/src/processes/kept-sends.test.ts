import { expect, test } from 'vitest'
import { countKeptSends } from './kept-sends.ts'
import type { SeenRow } from './witness.ts'

const send = (tool: string, key: string, status: string, epoch = 2): SeenRow => ({ n: 1, at_ms: 1, run_id: 'run', seq: 1, kind: null, status, epoch, worker_id: null, barren: null, tool, key })

test('counts the first send of each kept call, and the approved ones only behind a stopped attempt', () => {
  const rows = [send('asked', 'a', 'awaiting_approval', 1), send('asked', 'a', 'started'), send('asked', 'a', 'started', 3), send('staged', 's', 'staged', 1), send('staged', 's', 'started'), send('keyed', 'k', 'started')]
  expect(countKeptSends(rows, ({ epoch }) => epoch === 1)).toEqual({ staged: 1, approvedAfterTakeover: 1 })
  expect(countKeptSends(rows, ({ epoch }) => epoch === 2)).toEqual({ staged: 1, approvedAfterTakeover: 0 })
})
