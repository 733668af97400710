/** Claims that meet in one tick go in one call; one call at a time. Each caller gets the verdict of its own item. */
import { newId } from '@pawl/core'
import { claimItems, type ClaimAnswer, type ClaimRequest, type Ledger } from '@pawl/ledger'
import { startWatch, type Watch } from './watch.ts'

export interface Claimed {
  readonly answer: ClaimAnswer
  /** Started before the claim was sent: the local lease counts from here. */
  readonly asked: Watch
}

interface Waiting {
  readonly request: ClaimRequest
  readonly resolve: (claimed: Claimed) => void
  readonly reject: (error: unknown) => void
}

export class Claimer {
  #waiting: Waiting[] = []
  #isBusy = false

  constructor(private readonly ledger: Ledger, private readonly workerId: string, private readonly leaseMs: number, private readonly builds: string) {}

  claim(request: ClaimRequest): Promise<Claimed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      setImmediate(() => void this.#flush())
    })
  }

  /** A suspect's claim: by itself, with the whole process to itself. */
  async claimAlone(request: ClaimRequest): Promise<Claimed> {
    const asked = startWatch()
    const [answer] = await claimItems(this.ledger, [request], { workerId: this.workerId, nonce: newId(), leaseMs: this.leaseMs, alone: true, builds: this.builds })
    return { answer: answer ?? missing(request), asked }
  }

  async #flush(): Promise<void> {
    if (this.#isBusy || this.#waiting.length === 0) return
    this.#isBusy = true
    const batch = this.#waiting.splice(0, 200)
    const asked = startWatch()
    try {
      const answers = await claimItems(this.ledger, batch.map((one) => one.request), { workerId: this.workerId, nonce: newId(), leaseMs: this.leaseMs, alone: false, builds: this.builds })
      const byPlace = new Map(answers.map((answer) => [`${answer.run_id}:${answer.seq}`, answer]))
      for (const one of batch) {
        const place = `${one.request.runId}:${one.request.seq}`
        const answer = byPlace.get(place)
        // Two doorbells for one item in one batch: the claim belongs to the first.
        byPlace.delete(place)
        one.resolve({ answer: answer ?? missing(one.request), asked })
      }
    } catch (error) {
      for (const one of batch) one.reject(error)
    } finally {
      this.#isBusy = false
      void this.#flush()
    }
  }
}

const missing = (request: ClaimRequest): ClaimAnswer => ({ run_id: request.runId, seq: request.seq, verdict: 'missing', item: null, run: null, journal: null, records: null, turns: null, questions: null, history: null })
