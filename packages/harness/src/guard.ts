/**
 * The last check before bytes leave. It runs before `execute` and again at the write itself, because a blocked event loop writes a request
 * before it fires the timer that should have aborted it. Closed: nothing was sent, and the intent is recorded as unsent.
 */
import { NotSent } from '@pawl/tools'
import type { Attempt } from './attempt.ts'
import type { Watch } from './watch.ts'

export interface Guard {
  /** Throws `NotSent`. Passing counts as a send: what comes after it is no longer provably unsent. */
  check(): void
  hasPassed(): boolean
  /** Nothing passes any more: what was not sent by now never will be. */
  close(why: string): void
}

/** @param intended started before the statement with the intent was sent. */
export function makeGuard(attempt: Attempt, intended: Watch, isRead: boolean): Guard {
  let hasPassed = false
  let closed: string | undefined
  return {
    check() {
      if (closed !== undefined) throw new NotSent(closed)
      const { sendWindowMs } = attempt.parts.timings
      const elapsedMs = intended.elapsedMs()
      if (attempt.ending) throw new NotSent(`the attempt is over: ${attempt.ending.kind}`)
      if (elapsedMs > sendWindowMs) throw new NotSent(`${Math.round(elapsedMs)} ms have passed since the intent; a send may begin within ${sendWindowMs} ms`)
      if (attempt.leaseLeftMs() < sendWindowMs - elapsedMs) throw new NotSent('too little of the lease is left')
      if (!isRead && !attempt.parts.trust.isTrusted) throw new NotSent('the ledger may have lost its tail; look at the gap with "pawl ledger clear"')
      hasPassed = true
    },
    hasPassed: () => hasPassed,
    close: (why) => { closed ??= why },
  }
}

/** `NotSent` anywhere in the chain of causes: HTTP clients wrap what their dispatcher throws. */
export function findNotSent(thrown: unknown): NotSent | undefined {
  for (let at: unknown = thrown, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof NotSent) return at
  }
  return undefined
}
