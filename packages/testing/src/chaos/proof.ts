/** A run proves something only if every danger occurred in it. Pure. */
import { FAILPOINTS } from '@pawl/harness'
import { COUNTERS, FAULT_KINDS, leastAtFailpoint, type ChaosReport } from './tally.ts'

const leastTakeoverShare = 0.05

/** What did not occur, a sentence each; empty when the run proves what it says. */
export function findUnproved(counters: Readonly<Record<string, number>>, knownHole: number): string[] {
  const of = (name: string): number => counters[name] ?? 0
  return [
    ...COUNTERS.filter((name) => of(name) === 0).map((name) => `nothing proved: the counter ${name} is 0`),
    ...FAULT_KINDS.filter((kind) => of(kind) === 0).map((kind) => `nothing proved: no fault of kind ${kind} occurred`),
    ...FAILPOINTS.filter((name) => of(`at ${name}`) < leastAtFailpoint).map((name) => `nothing proved: failpoint ${name} was struck ${of(`at ${name}`)} times only`),
    ...(of('takeovers') < leastTakeoverShare * of('items') ? [`nothing proved: ${of('takeovers')} takeovers of ${of('items')} items`] : []),
    ...(knownHole === 0 ? ['nothing proved: the known hole was not forced'] : []),
  ]
}

/** The verdict over what went wrong and what did not occur. */
export function withProof(figures: Omit<ChaosReport, 'ok'>): ChaosReport {
  const problems = [...figures.problems, ...findUnproved(figures.counters, figures.knownHole)]
  return { ...figures, problems, ok: problems.length === 0 }
}

/** Said by a part of a run, where only the whole has to prove it. */
export const isUnproved = (problem: string): boolean => problem.startsWith('nothing proved: ')
