/**
 * What this process was told to be durable, kept for a while: after a failover that lost the ledger's tail, what a living worker remembers is brought
 * back, so that a call that was made is never made again as if it were new. Reads have no effect, and a transactional call is lost together with its row.
 */
import { limits } from '@pawl/core'
import type { ActionRow, RememberedCall } from '@pawl/ledger'
import { startWatch, type Watch } from './watch.ts'

const mostCalls = 10_000
const mostChars = 32_000_000

interface Kept {
  readonly action: ActionRow
  readonly since: Watch
  readonly chars: number
}

export class RecentCalls {
  /** By run and key, in the order of their last change. */
  readonly #calls = new Map<string, Kept>()
  #chars = 0

  note(action: ActionRow): void {
    if (action.effect === 'read' || action.effect === 'transactional' || (action.status !== 'started' && action.status !== 'committed')) return
    const place = `${action.run_id}:${action.key}`
    const before = this.#calls.get(place)
    // A result changes what is known of a send, not when it was made.
    const since = before !== undefined && before.action.sends === action.sends ? before.since : startWatch()
    this.#drop(place)
    const chars = action.args.length + (action.result?.length ?? 0) + 500
    this.#calls.set(place, { action, since, chars })
    this.#chars += chars
    for (const [oldest, kept] of this.#calls) {
      if (this.#calls.size <= mostCalls && this.#chars <= mostChars && kept.since.elapsedMs() <= limits.rememberedForMs) break
      this.#drop(oldest)
    }
  }

  #drop(place: string): void {
    this.#chars -= this.#calls.get(place)?.chars ?? 0
    this.#calls.delete(place)
  }

  /** In the order of their last send. */
  list(): RememberedCall[] {
    return [...this.#calls.values()].toSorted((a, b) => a.action.order_no - b.action.order_no).map(({ action, since }) => ({
      action, agoMs: since.surelyElapsedMs(), keyLeftMs: action.key_expires_at === null ? null : Date.parse(action.key_expires_at) - Date.now(),
    }))
  }
}
