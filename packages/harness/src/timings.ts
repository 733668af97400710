import { limits } from '@pawl/core'

/** The durations a harness runs by. Defaults are `limits`; tests scale them down together, never one alone. */
export interface Timings {
  readonly leaseMs: number
  readonly renewEveryMs: number
  readonly sendWindowMs: number
  readonly sweepEveryMs: number
  readonly sweeperLeaseMs: number
  readonly heartbeatEveryMs: number
  readonly undeliveredAfterMs: number
  readonly divergedHoldMs: number
  readonly stopGraceMs: number
  /** First pause before a verify or re-call is tried again. */
  readonly settleAgainMs: number
  /** How long a suspect keeps others waiting for an empty process before it takes a slot beside them, and how long an empty process is its own. */
  readonly alonePatienceMs: number
  /** How long an agent version may have no live process before what waits for it is blocked `version`: longer than a deploy takes. */
  readonly versionGraceMs: number
}

export const defaultTimings: Timings = {
  leaseMs: limits.leaseMs,
  renewEveryMs: limits.renewEveryMs,
  sendWindowMs: limits.sendWindowMs,
  sweepEveryMs: limits.sweepEveryMs,
  sweeperLeaseMs: limits.sweeperLeaseMs,
  heartbeatEveryMs: limits.heartbeatEveryMs,
  undeliveredAfterMs: limits.undeliveredAfterMs,
  divergedHoldMs: limits.divergedHoldMs,
  stopGraceMs: limits.stopGraceMs,
  settleAgainMs: 500,
  alonePatienceMs: 60_000,
  versionGraceMs: limits.versionGraceMs,
}
