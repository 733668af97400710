/**
 * One question for all runs under way instead of one each: which have ended, and how. A run that has been under way for long is spared: no fault is
 * aimed at it any more. What has then not ended within the same time again is lost.
 */
import type { Ledger } from '@pawl/ledger'

const ended: readonly string[] = ['completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue']
const everyMs = 150

export class RunWatch {
  readonly #waiting = new Map<string, { resolve: (status: string) => void; reject: (error: Error) => void; until: number; isSpared: boolean }>()
  readonly #timer: NodeJS.Timeout
  #isBusy = false

  constructor(private readonly ledger: Ledger, private readonly deadlineMs: number, private readonly spare?: (runId: string) => void) {
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  /** The status the run ended in. Rejects, with how it stands, when it does not end although it is spared. */
  ended(runId: string): Promise<string> {
    return new Promise((resolve, reject) => this.#waiting.set(runId, { resolve, reject, until: Date.now() + this.deadlineMs, isSpared: false }))
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
        else if (Date.now() < one.until) continue
        else if (this.spare && !one.isSpared) {
          this.spare(id)
          Object.assign(one, { isSpared: true, until: Date.now() + this.deadlineMs })
          continue
        } else one.reject(new Error(`run ${id} has not ended within ${this.deadlineMs} ms${one.isSpared ? ' of peace' : ''}; it is ${status}: ${await this.#tellStory(id)}`))
        this.#waiting.delete(id)
      }
    } catch {
      // Asked again.
    } finally {
      this.#isBusy = false
    }
  }

  /** Where it stands, for whoever has to find out why. */
  async #tellStory(id: string): Promise<string> {
    const rows = await this.ledger.query(`select i.seq, i.kind, i.status, i.blocked_reason, i.attempts, i.failures, i.barren_attempts, i.generation, i.lease_until, i.available_at, i.dispatched_at,
      (select json_object_agg(s.status, s.n) from (select a.status, count(*) as n from pawl.actions a where a.run_id = i.run_id and a.item_seq = i.seq group by a.status) s) as actions,
      (select json_agg(t.at order by t.epoch) from (select epoch, started_at as at from pawl.attempts t where t.run_id = i.run_id and t.item_seq = i.seq order by epoch desc limit 12) t) as claims
      from pawl.items i where i.run_id = $1 and i.status in ('pending', 'in_progress', 'blocked') order by i.seq`, [id])
    return JSON.stringify(rows)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
