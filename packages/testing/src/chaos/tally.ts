/** What a chaos run counts. A figure of "0 duplicates" proves nothing beside a counter of 0: the danger never occurred. */
import { FAILPOINTS, type FailpointName } from '@pawl/harness'

/** What counts as a fault: a crash, a freeze past the lease, a lost answer, a lost acknowledgement, a killed backend. Never a delay, never an error. */
export const FAULT_KINDS = ['crash', 'freeze', 'workerKilled', 'lostAnswer', 'lostAck', 'backendKilled'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Each must be above zero, or the run fails. */
export const COUNTERS = [
  'takeovers', 'fencedWrites', 'zombiesAfterTakeover',
  'unsettledRead', 'unsettledKeyed', 'unsettledKeyedSlow', 'unsettledLookup', 'unsettledOpaque', 'unsettledTransactional', 'unsettledUndo',
  'verifyYes', 'verifyNo', 'verifyUnknown', 'recallFromMemory', 'recallRefused', 'lostAckIntent', 'lostAckCompletion', 'sendWindowAborts', 'evidenceUsed',
  'redispatches', 'compensationsWithUnsettled', 'cancelsWithUnsettled', 'finalizerTakeovers', 'resumes', 'sharedKeys', 'answersHappened', 'answersDidNot',
  'approvals', 'approvalsAfterTakeover', 'stagedSends',
] as const
export type CounterName = (typeof COUNTERS)[number]

/** Strikes at each failpoint. */
export const leastAtFailpoint = 3
/** Counted once everything is quiet. */
const countedLater: readonly CounterName[] = ['recallFromMemory', 'evidenceUsed']

export class Tally {
  readonly faults = new Map<FaultKind, number>(FAULT_KINDS.map((kind) => [kind, 0]))
  readonly counters = new Map<CounterName, number>(COUNTERS.map((name) => [name, 0]))
  /** Crashes, freezes and errors struck at each failpoint. */
  readonly struck = new Map<FailpointName, number>(FAILPOINTS.map((name) => [name, 0]))
  /** Errors thrown at failpoints, and pauses shorter than the lease: no faults, said beside them. */
  throws = 0
  stalls = 0
  /** Runs under way so long that no fault was aimed at them any more. */
  spared = 0

  fault(kind: FaultKind, n = 1): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + n)
  }

  count(name: CounterName, n = 1): void {
    this.counters.set(name, (this.counters.get(name) ?? 0) + n)
  }

  /** A call of one of the chaos tools whose outcome somebody has to find out. */
  countUnsettled(tool: string): void {
    if (tool.endsWith('.undo')) this.count('unsettledUndo')
    else if (tool === 'read') this.count('unsettledRead')
    else if (tool === 'keyed' || tool === 'shared') this.count('unsettledKeyed')
    else if (tool === 'keyed-slow' || tool === 'staged') this.count('unsettledKeyedSlow')
    else if (tool === 'lookup' || tool === 'asked') this.count('unsettledLookup')
    else if (tool === 'opaque') this.count('unsettledOpaque')
    else if (tool === 'tx') this.count('unsettledTransactional')
  }

  strike(name: FailpointName): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1)
  }

  /** Everything that is counted as it happens has happened often enough. */
  get isProved(): boolean {
    return [...this.counters].every(([name, n]) => n > 0 || countedLater.includes(name)) && [...this.struck.values()].every((n) => n >= leastAtFailpoint)
  }

  get faultCount(): number {
    return [...this.faults.values()].reduce((sum, n) => sum + n, 0)
  }
}

export interface ChaosReport {
  readonly tier: 'virtual'
  readonly faults: number
  /** Applied, wherever they are counted; those of the known hole not among them. */
  readonly effects: number
  readonly duplicates: number
  /** Doubled on purpose: a freeze between the guard and the write of a tool that does not use Pawl's fetch. */
  readonly knownHole: number
  readonly lost: number
  readonly violations: number
  readonly needlessEscalations: number
  readonly counters: Readonly<Record<string, number>>
  readonly seed: number
  readonly seconds: number
  readonly ok: boolean
  /** A sentence for each thing that is wrong; empty when `ok`. */
  readonly problems: readonly string[]
}
