/** The runs on the board: one job each, its progress the items done of all. Shown now and then, and once more when a run has ended. Best effort. */
import { tallyRuns, type Ledger, type RunTallyRow } from '@pawl/ledger'
import type { Queue } from '@pawl/queue'

const everyMs = 3_000
const mostRuns = 200

export class BoardRuns {
  readonly #shown = new Map<string, string>()
  #shownAt = 0

  constructor(private readonly ledger: Ledger, private readonly queue: Queue) {}

  /** @param open the runs that are not at their end. */
  async show(open: readonly string[]): Promise<void> {
    const gone = [...this.#shown.keys()].filter((runId) => !open.includes(runId))
    if (gone.length === 0 && performance.now() - this.#shownAt < everyMs) return
    this.#shownAt = performance.now()
    for (const run of await tallyRuns(this.ledger, [...gone, ...open.slice(0, mostRuns)])) await this.#showRun(run, gone.includes(run.id))
    for (const runId of gone) this.#shown.delete(runId)
  }

  async #showRun(run: RunTallyRow, isEnded: boolean): Promise<void> {
    const progress = { done: run.done, failed: run.failed, blocked: run.blocked, total: run.total }
    const seen = JSON.stringify(progress)
    if (!isEnded && this.#shown.get(run.id) === seen) return
    this.#shown.set(run.id, seen)
    await this.queue.showRun(run.id, `${run.agent} ${run.status}`, progress, isEnded)
  }
}
