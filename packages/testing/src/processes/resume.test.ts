import { expect, test } from 'vitest'
import { measureResume } from './resume.ts'
import type { SeenRow } from './witness.ts'

let n = 0
const row = (at_ms: number, over: Partial<SeenRow>): SeenRow => ({ n: ++n, at_ms, run_id: 'run', seq: 1, kind: 'work', status: 'in_progress', epoch: 1, worker_id: 'dead', barren: 0, tool: null, key: null, ...over })
const send = (at_ms: number, epoch: number, tool: string, key: string, status = 'started'): SeenRow => row(at_ms, { kind: null, worker_id: null, epoch, tool, key, status })
const claim = (at_ms: number, epoch: number, worker_id: string): SeenRow => row(at_ms, { epoch, worker_id })
const freed = (at_ms: number, epoch: number): SeenRow => row(at_ms, { epoch, worker_id: null, status: 'pending' })
const killed = [{ workerId: 'dead', at: 1_000 }]

test('the wait ends at the first new send, not at the claim, nor at what the dead process still had on the wire', () => {
  const rows = [claim(100, 1, 'dead'), send(200, 1, 'keyed', 'a'), send(300, 1, 'keyed', 'a', 'committed'), send(1_001, 1, 'keyed', 'b'), freed(1_050, 1), claim(1_100, 2, 'next'), send(1_400, 2, 'keyed', 'b')]
  expect(measureResume(rows, killed, killed, () => true)).toEqual({ sameHost: { p50: 400, p95: 400, max: 400, n: 1 }, waitingByDesign: { p50: null, p95: null, max: null, n: 0 }, struckAgain: 0 })
})

test('what compensates a run waits by design for any call in flight of the run; an item that sent an approved call, or whose last intent arrived after its death, for its own', () => {
  const kinds = (kind: string, ...rows: SeenRow[]): SeenRow[] => rows.map((one) => (one.tool === null ? { ...one, kind } : one))
  const undoing = [...kinds('compensate', claim(100, 1, 'dead'), freed(1_050, 1), claim(1_100, 2, 'next')), send(4_000, 2, 'keyed.undo', 'u'), { ...send(90, 1, 'lookup', 'other'), seq: 2 }]
  expect(measureResume(undoing, killed, killed, () => true)).toMatchObject({ sameHost: { n: 0 }, waitingByDesign: { n: 1 } })
  expect(measureResume(kinds('work', ...undoing), killed, killed, () => true)).toMatchObject({ sameHost: { n: 1 }, waitingByDesign: { n: 0 } })
  const late = (tool: string): SeenRow[] => [claim(100, 1, 'dead'), send(1_004, 1, tool, 'a'), freed(1_050, 1), claim(1_100, 2, 'next'), send(4_000, 2, 'tx', 'b')]
  expect(measureResume(late('asked'), killed, killed, () => true)).toMatchObject({ sameHost: { n: 0 }, waitingByDesign: { n: 1 } })
  expect(measureResume(late('keyed'), killed, killed, () => true)).toMatchObject({ sameHost: { n: 1 }, waitingByDesign: { n: 0 } })
})

test('an item with an unverifiable call in flight, one that was struck again and one the dead worker no longer held are not among the figures', () => {
  const inFlight = [claim(100, 1, 'dead'), send(900, 1, 'opaque', 'a'), freed(1_050, 1), claim(1_100, 2, 'next'), send(4_000, 2, 'opaque', 'a')]
  expect(measureResume(inFlight, killed, killed, () => true)).toMatchObject({ sameHost: { n: 0 }, waitingByDesign: { p50: 3_000, n: 1 } })
  const again = [claim(100, 1, 'dead'), freed(1_050, 1), claim(1_100, 2, 'next'), freed(1_300, 2), claim(1_400, 3, 'third'), send(1_500, 3, 'read', 'a')]
  expect(measureResume(again, killed, [...killed, { workerId: 'next', at: 1_200 }], () => true)).toMatchObject({ sameHost: { n: 0 }, struckAgain: 1 })
  const finished = [claim(100, 1, 'dead'), row(900, { status: 'done', worker_id: null }), send(1_500, 2, 'read', 'a')]
  expect(measureResume(finished, killed, killed, () => true)).toMatchObject({ sameHost: { n: 0 } })
})
