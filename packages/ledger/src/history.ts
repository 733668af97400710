/**
 * Which history a statement was written on, as the server said in its answer, and whether that history has gone back: files that were put back
 * as they had been keep server, timeline and rows, and only the write-ahead log's position tells, to a process that has seen a later one.
 */
import { z } from 'zod'

export interface History {
  readonly timeline: string
  /** What wrote the ledger's row; a clearing changes it. */
  readonly since: string | null
  /** Server, timeline and row are those the ledger was last cleared on, and nobody has noticed a loss. */
  readonly isKnown: boolean
  /** When a person last cleared the ledger, since 1970; 0: never. */
  readonly clearedAtMs: number
  /** Less is durable now than this process has been told before. */
  readonly hasGoneBack: boolean
}

const stamp = z.object({ timeline: z.string(), since: z.string().nullable(), known: z.boolean(), cleared: z.number(), lsn: z.string() })

/** One per door to the ledger: keeps the newest position it has been told. */
export class HistoryGauge {
  #newest = 0n
  #term = 0

  /** Call before the statement is sent, with what its answer brings after: answers may come in another order than they were given. */
  begin(): (text: string) => History {
    const floor = this.#newest
    const term = this.#term
    return (text) => {
      const { timeline, since, known, cleared, lsn } = stamp.parse(JSON.parse(text))
      const position = BigInt(lsn)
      if (term === this.#term && position > this.#newest) this.#newest = position
      return { timeline, since, isKnown: known, clearedAtMs: cleared, hasGoneBack: term === this.#term && position < floor }
    }
  }

  /** A person has cleared the ledger: whatever the server says now is the measure. */
  reset(): void {
    this.#newest = 0n
    this.#term++
  }
}
