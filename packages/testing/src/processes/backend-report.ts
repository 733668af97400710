/** The tier's report: figures of each backend, sums of both, and every sentence about what is wrong. */
import type { Tally } from '../chaos/tally.ts'
import type { TierReport } from '../chaos/tiers.ts'
import type { MatrixReport } from './matrix.ts'
import type { StormReport } from './storm.ts'

export interface BackendReport {
  readonly backend: 'redis' | 'postgres'
  readonly matrix: MatrixReport
  readonly storm: StormReport
  /** How often it was doubled where it was forced. */
  readonly knownHole: number
  readonly needless: readonly string[]
  readonly contradictions: readonly string[]
  readonly tally: Tally
  readonly unproved: readonly string[]
}

/** Milliseconds: the targets of a chaos run, worker restart included. */
const resumeTargets = { p50: 1_000, p95: 1_500 } as const
const leastTakeoverShare = 0.05

export function addReports(reports: readonly BackendReport[]): TierReport & Readonly<Record<string, unknown>> {
  const sum = (of: (report: BackendReport) => number): number => reports.reduce((total, report) => total + of(report), 0)
  const problems = reports.flatMap(problemsOf)
  const counters: Record<string, number> = {}
  for (const { tally } of reports) {
    for (const [name, n] of [...tally.faults, ...tally.counters]) counters[name] = (counters[name] ?? 0) + n
    for (const [name, n] of tally.struck) counters[`at ${name}`] = (counters[`at ${name}`] ?? 0) + n
  }
  return {
    tier: 'processes', queues: Object.fromEntries(reports.map((report) => [report.backend, figuresOf(report)])),
    kills: sum(({ storm }) => storm.strikes.kill), stops: sum(({ storm }) => storm.strikes.stop), terms: sum(({ storm }) => storm.strikes.term), supervisors: sum(({ storm }) => storm.strikes.supervisor),
    cells: sum(({ matrix }) => matrix.outcomes.length), effects: sum(({ storm, matrix }) => storm.judged.effects + matrix.outcomes.reduce((all, one) => all + one.effects, 0)),
    duplicates: sum(duplicatesOf), knownHole: sum(({ knownHole }) => knownHole), lost: sum(({ storm }) => storm.judged.lost + storm.stuck.length),
    violations: sum(({ storm, contradictions }) => storm.judged.violations + contradictions.length), needlessEscalations: sum(({ needless }) => needless.length),
    counters, ok: problems.length === 0, problems,
  }
}

const duplicatesOf = ({ storm, matrix }: BackendReport): number => storm.judged.duplicates + matrix.outcomes.reduce((all, { effects, cell }) => all + Math.max(0, effects - (cell.tool === 'read' ? 0 : 1)), 0)

function figuresOf(report: BackendReport): Readonly<Record<string, unknown>> {
  const { storm, matrix } = report
  return {
    kills: storm.strikes.kill, stops: storm.strikes.stop, terms: storm.strikes.term, supervisors: storm.strikes.supervisor, killsPerSecond: Math.round(storm.killsPerSecond * 100) / 100,
    inFlightAtDeath: storm.inFlightAtDeath, effects: storm.judged.effects, items: storm.judged.items, duplicates: duplicatesOf(report), lost: storm.judged.lost + storm.stuck.length,
    cells: matrix.outcomes.length, cellsRight: matrix.outcomes.filter((one) => one.problems.length === 0).length, resume: storm.resume, stalls: storm.queueStalls, missingLocks: storm.missingLocks,
  }
}

function problemsOf({ backend, matrix, storm, knownHole, needless, contradictions, tally, unproved }: BackendReport): string[] {
  const { p50, p95 } = storm.resume.sameHost
  const takeovers = tally.counters.get('takeovers') ?? 0
  return [
    ...matrix.problems, ...storm.stuck, ...storm.judged.problems, ...contradictions, ...needless.map((one) => `needless escalation: ${one}`), ...unproved,
    ...(takeovers < leastTakeoverShare * storm.judged.items ? [`nothing proved: ${takeovers} takeovers of ${storm.judged.items} items`] : []),
    ...(knownHole === 0 ? ['nothing proved: the known hole was not forced'] : []),
    ...(storm.queueStalls === 0 ? ['nothing proved: no job of the queue stalled'] : []),
    ...(p50 === null || p95 === null ? ['nothing proved: no item was seen to go on after its worker was killed'] : []),
    ...(p50 !== null && p50 >= resumeTargets.p50 ? [`resume took ${p50} ms at the median, ${resumeTargets.p50} ms are the target`] : []),
    ...(p95 !== null && p95 >= resumeTargets.p95 ? [`resume took ${p95} ms at the 95th percentile, ${resumeTargets.p95} ms are the target`] : []),
  ].map((problem) => `${backend}: ${problem}`)
}
