import { expect, test } from 'vitest'
import { ago, lasted, plural, shortId } from './words.ts'

test('durations are said in the two units that matter', () => {
  expect([3, 999, 1_000, 61_000, 3_600_000, 5_400_000, 90_000_000].map(lasted)).toEqual(['3 ms', '999 ms', '1 s', '1 min 1 s', '1 h', '1 h 30 min', '1 d 1 h'])
})

test('times are said from now, either way', () => {
  const now = Date.UTC(2026, 10, 30)
  expect([now, now - 5_000, now - 7_300_000, now + 120_000].map((at) => ago(new Date(at), now))).toEqual(['now', '5 s ago', '2 h ago', 'in 2 min'])
})

test('counts and ids are said shortly', () => {
  expect([plural(1, 'run'), plural(1_234, 'run'), plural(0, 'entry', 'entries'), shortId('0190a000-0000-7000-8000-00000000beef'), shortId('short')]).toEqual(['1 run', '1,234 runs', '0 entries', '0190a000…beef', 'short'])
})
