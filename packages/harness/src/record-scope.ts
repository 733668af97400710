/**
 * A record under way holds its item until it is made, unless its own code waits for something of Pawl's: a call, a question, a sleep. Such a wait never
 * settles once the attempt is over, and a record that waits for it would hold the item, lease and worker for ever.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Attempt } from './attempt.ts'

const scopes = new AsyncLocalStorage<RecordScope>()

class RecordScope {
  #waits = 0

  constructor(readonly attempt: Attempt, private readonly leave: () => void) {
    void attempt.parked.then(() => this.#leaveIfWaiting())
  }

  /** Beside a wait the record itself brings nothing new: it counts as one that waits, too. */
  async wait<T>(work: Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.attempt.held++
    if (this.attempt.ending) this.#leaveIfWaiting()
    try {
      return await work
    } finally {
      if (--this.#waits === 0) this.attempt.held--
    }
  }

  #leaveIfWaiting(): void {
    if (this.#waits > 0) this.leave()
  }
}

/** Runs a record's code. */
export async function inRecord<T>(attempt: Attempt, fn: () => T | Promise<T>): Promise<T> {
  const leave = attempt.enter()
  try {
    return await scopes.run(new RecordScope(attempt, leave), async () => await fn())
  } finally {
    leave()
  }
}

/** What an agent's code waits for, which may be inside a record. `work` is begun already. */
export function waitInRecord<T>(attempt: Attempt, work: Promise<T>): Promise<T> {
  const scope = scopes.getStore()
  if (scope?.attempt !== attempt) return work
  const waiting = scope.wait(work)
  // The agent may drop it, as it may drop the call itself.
  waiting.catch(() => {})
  return waiting
}
