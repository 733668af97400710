/** Several shards, one report: figures are added up, and what has to occur has to occur in all of them together. */
import { FAILPOINTS } from '@pawl/harness'
import { expect, test } from 'vitest'
import { findUnproved, withProof } from './proof.ts'
import { seedOfShard, sumUp } from './shards.ts'
import { COUNTERS, FAULT_KINDS } from './tally.ts'

const all = Object.fromEntries([...COUNTERS, ...FAULT_KINDS, ...FAILPOINTS.map((name) => `at ${name}`)].map((name) => [name, 2]))
const report = (duplicates: number) => ({ faults: 10, effects: 20, duplicates, knownHole: 1, lost: 0, violations: 0, needlessEscalations: 0, counters: all, seed: 1, seconds: 2, ok: false })
const of = (reports: Parameters<typeof sumUp>[0], problems: string[] = []) => withProof({ ...sumUp(reports, problems), seed: 1, seconds: 1 })

test('the figures of all shards are added up, and prove together what each alone does not', () => {
  expect(findUnproved(all, 1)).toHaveLength(FAILPOINTS.length)
  expect(of([report(0), report(0)])).toMatchObject({ faults: 20, effects: 40, knownHole: 2, ok: true })
})

test('one problem of one shard makes the run not ok, and so does a danger that never occurred', () => {
  expect(of([report(0), report(1)], ['a duplicate'])).toMatchObject({ duplicates: 1, ok: false, problems: ['a duplicate'] })
  const { takeovers: _, ...rest } = all
  expect(of([{ ...report(0), counters: rest }, { ...report(0), counters: rest }]).problems).toContain('nothing proved: the counter takeovers is 0')
  expect(of([]).ok).toBe(false)
})

test('two seeds share no shard', () => {
  const seeds = [1, 2, 3].flatMap((seed) => [0, 1, 2].map((shard) => seedOfShard(seed, shard)))
  expect(new Set(seeds).size).toBe(9)
})
