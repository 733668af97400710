/** Answers every doubt as soon as it may be answered, by what the receiver logged. A ledger that is away is asked again. */
import type { Ledger } from '@pawl/ledger'
import { answerByReceipts, listDoubts } from '../chaos/answer-by-receipts.ts'
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
      for (const action of await listDoubts(this.ledger)) if ((await answerByReceipts(this.ledger, this.effects, action)) !== undefined) this.answered++
    } catch {
      // The same question is there at the next look.
    } finally {
      this.#isBusy = false
    }
  }
}
