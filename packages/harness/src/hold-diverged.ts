/**
 * A call that is not in the journal while the journal holds a write of the same tool, or of one the agent no longer has, that this attempt has not asked for: held, nothing sent.
 * It goes on when the agent asks for the missing ones (parallel branches may come in another order); when the agent brings nothing more,
 * the item blocks `diverged` and a person decides.
 */
import { waitMs } from '@pawl/core'
import type { ActionRow } from '@pawl/ledger'
import type { Attempt } from './attempt.ts'
import type { Call } from './call.ts'

export async function holdDiverged(attempt: Attempt, call: Call, recorded: ActionRow): Promise<void> {
  const asked = new AbortController()
  const stop = attempt.onAsked(() => asked.abort())
  attempt.held++
  try {
    do await waitMs(attempt.parts.timings.divergedHoldMs, AbortSignal.any([asked.signal, attempt.signal]))
    while (!asked.signal.aborted && !attempt.ending && attempt.isBusy)
  } finally {
    attempt.held--
    stop()
  }
  if (asked.signal.aborted || attempt.ending) return
  attempt.park({
    kind: 'blocked', reason: 'diverged',
    detail: { tool: call.tool.name, attempted: { key: call.key, args: call.argsDigest }, recorded: { action: recorded.id, tool: recorded.tool, key: recorded.key, args: recorded.args_digest } },
  })
}
