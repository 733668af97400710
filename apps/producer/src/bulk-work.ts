/**
 * Carries bulk operations out beside the HTTP. Every producer does, whoever took the request: an entry is done and noted in one transaction, so there is no
 * owner to lose. One that dies leaves its entries open, and the next look of any other finds them.
 */
import { carryOutBulks } from '@pawl/client'
import { waitMs } from '@pawl/core'
import type { Ledger } from '@pawl/ledger'
import type { Logger } from 'pino'

const everyMs = 1_000
/** Runs acted on side by side; each is one statement. */
const lanes = 4

export interface BulkWork {
  /** There is something new: look now. */
  poke(): void
  stop(): Promise<void>
}

export function startBulkWork(parts: { readonly ledger: Ledger; readonly dispatch: (runId: string) => Promise<void>; readonly log: Logger }): BulkWork {
  const stopped = new AbortController()
  let poked = new AbortController()
  const ring = (runId: string): Promise<void> =>
    // The sweep rings for what was not rung for.
    parts.dispatch(runId).catch((error: unknown) => parts.log.warn({ run: runId }, `not rung for after a bulk operation; the sweep will: ${error instanceof Error ? error.message : String(error)}`))
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      poked = new AbortController()
      try {
        await carryOutBulks(parts.ledger, null, { ring, signal: stopped.signal, lanes })
      } catch (error) {
        parts.log.warn(`a bulk operation waits, it goes on in a moment: ${error instanceof Error ? error.message : String(error)}`)
      }
      await waitMs(everyMs, AbortSignal.any([stopped.signal, poked.signal]))
    }
  }
  const running = loop()
  return {
    poke: () => poked.abort(),
    async stop() {
      stopped.abort()
      await running
    },
  }
}
