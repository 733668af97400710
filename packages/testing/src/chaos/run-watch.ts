/** One question for all runs under way instead of one each: which have ended, and how. */
import type { Ledger } from '@pawl/ledger'

const ended: readonly string[] = ['completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue']
const everyMs = 150

export class RunWatch {
  readonly #waiting = new Map<string, { resolve: (status: string) => void; reject: (error: Error) => void; until: number }>()
  readonly #timer: NodeJS.Timeout
  #isBusy = false

  constructor(private readonly ledger: Ledger, private readonly deadlineMs: number) {
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  /** The status the run ended in. Rejects when it does not end within the deadline. */
  ended(runId: string): Promise<string> {
    return new Promise((resolve, reject) => this.#waiting.set(runId, { resolve, reject, until: Date.now() + this.deadlineMs }))
  }

  async #look(): Promise<void> {
    if (this.#isBusy || this.#waiting.size === 0) return
    this.#isBusy = true
    try {
      const rows = await this.ledger.query<{ id: string; status: string }>('select id, status from pawl.runs where id in (select x::uuid from json_array_elements_text($1::json) as x)', [JSON.stringify([...this.#waiting.keys()])])
      for (const { id, status } of rows) {
        const one = this.#waiting.get(id)
        if (!one) continue
        if (ended.includes(status)) one.resolve(status)
        else if (Date.now() > one.until) one.reject(new Error(`run ${id} has not ended within ${this.deadlineMs} ms; it is ${status}`))
        else continue
        this.#waiting.delete(id)
      }
    } catch {
      // Asked again.
    } finally {
      this.#isBusy = false
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
