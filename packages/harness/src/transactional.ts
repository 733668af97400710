/** A transactional send: the tool's own SQL and the completion commit together or not at all, so its error proves that nothing was applied. */
import { NotApplied, recordError } from '@pawl/core'
import { commitTransactional, type ActionRow } from '@pawl/ledger'
import type { Attempt } from './attempt.ts'
import type { Call } from './call.ts'
import { keepResult } from './completion-of.ts'
import { executeSend, type Sent } from './execute.ts'
import type { Watch } from './watch.ts'

class NotReturned extends Error {
  constructor(readonly sent: Sent) {
    super('the call did not return')
  }
}

export async function sendTransactional(attempt: Attempt, call: Call, action: ActionRow, intended: Watch): Promise<Sent> {
  let value: unknown
  try {
    await commitTransactional(attempt.parts.ledger, attempt.holder, { key: call.key, token: action.token ?? '', timeoutMs: call.tool.timeoutMs }, async (tx) => {
      const sent = await executeSend(attempt, { tool: call.tool, key: call.key, input: call.input, attempt: action.attempt }, intended, tx)
      if (sent.kind !== 'returned') throw new NotReturned(sent)
      const kept = keepResult(call.tool, call.input, sent.value)
      if (kept.kind === 'misfit') throw new NotReturned({ kind: 'refused', error: new NotApplied(kept.why) })
      value = sent.value
      return { result: kept.text, undo: kept.undo }
    })
    return { kind: 'returned', value }
  } catch (thrown) {
    if (thrown instanceof NotReturned) return rolledBack(thrown.sent)
    // The outcome of COMMIT may be unknown; settling takes the item's row, waits for the old backend, and then the action's row tells.
    return { kind: 'unknown', error: recordError(thrown), late: undefined }
  }
}

/** The rollback was confirmed, so an error of the tool's says "not applied", a deadline included. */
function rolledBack(sent: Sent): Sent {
  if (sent.kind !== 'unknown') return sent
  return { kind: 'refused', error: new NotApplied(sent.error.message) }
}
