/** Answers every doubt as soon as it may be answered, by what the receiver logged. A ledger that is away is asked again. */
import { encode } from '@pawl/core'
import { answerDoubt, wakeItems, type ActionRow, type Ledger } from '@pawl/ledger'
import type { Receiver } from '../chaos/receiver.ts'

const everyMs = 500

export class Doubts {
  /** How many a person had to answer. */
  answered = 0
  readonly #timer: NodeJS.Timeout
  #isBusy = false

  constructor(private readonly ledger: Ledger, private readonly effects: Receiver) {
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      const rows = await this.ledger.query<{ action: ActionRow }>(`select row_to_json(a.*) as action from pawl.actions a where a.status = 'in_doubt' and a.answerable_at <= clock_timestamp() limit 200`)
      for (const { action } of rows) await this.#answer(action)
    } catch {
      // The same question is there at the next look.
    } finally {
      this.#isBusy = false
    }
  }

  async #answer(action: ActionRow): Promise<void> {
    const applied = this.effects.receiptsOf(action.key).find((receipt) => receipt.applied)
    const { outcome } = await answerDoubt(this.ledger, action.run_id, action.id, {
      attempt: action.attempt, evidence: action.evidence.length, answer: applied ? 'happened' : 'did_not',
      result: applied ? encode({ ref: `said by a person of ${applied.n}` }, { what: 'answer' }) : null, actor: 'ann',
    })
    if (outcome === 'answered') this.answered++
    await wakeItems(this.ledger, action.run_id)
  }
}
