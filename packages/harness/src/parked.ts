import type { Attempt } from './attempt.ts'

/** Thrown inside the bracket when the attempt was parked: unwinds, so that the call counts as no longer in flight. Never reaches an agent. */
export class Parked extends Error {}
export const parked = (attempt: Attempt, ending: Parameters<Attempt['park']>[0]): Parked => {
  attempt.park(ending)
  return new Parked()
}
