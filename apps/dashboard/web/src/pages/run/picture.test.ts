import { expect, test } from 'vitest'
import { indexOfSeq, isSame, readPicture, seqAt, STATES } from './picture.ts'

const wordsOf = (states: Uint8Array): string[] => [...states].map((state) => STATES[state]?.status ?? '?')

test('a picture is read letter by letter, and every item finds its number and back', () => {
  const picture = readPicture({ total: 9, states: '2d1f1p1a1c1u2b', seqs: [[1, 4], [7, 5]] })
  expect(wordsOf(picture.states)).toEqual(['done', 'done', 'failed', 'pending', 'in_progress', 'cancelled', 'compensated', 'blocked', 'blocked'])
  const seqs = [...picture.states.keys()].map((index) => seqAt(picture, index))
  expect(seqs).toEqual([1, 2, 3, 4, 7, 8, 9, 10, 11])
  expect(seqs.map((seq) => indexOfSeq(picture, seq ?? -1))).toEqual([...picture.states.keys()])
  expect([seqAt(picture, 9), indexOfSeq(picture, 5), indexOfSeq(picture, 12)]).toEqual([undefined, undefined, undefined])
})

test('a picture in another language is refused, not drawn', () => {
  expect(() => readPicture({ total: 2, states: '2x', seqs: [[1, 2]] })).toThrow('same version')
  expect(() => readPicture({ total: 2, states: '3d', seqs: [[1, 2]] })).toThrow('same version')
  expect(() => readPicture({ total: 2, states: '1d', seqs: [[1, 2]] })).toThrow('1 of 2 squares')
})

test('a hundred thousand items are compared whole', () => {
  const states = readPicture({ total: 100_000, states: '99999d1p', seqs: [[1, 100_000]] }).states
  const other = Uint8Array.from(states)
  expect(isSame(states, other)).toBe(true)
  other[99_998] = 0
  expect(isSame(states, other)).toBe(false)
})
