/**
 * A transactional call: the tool's SQL and the completion in one transaction. The item row is taken last, after the tool's own SQL,
 * or one slow statement of a user would hold up the renewals of the whole process. Fence and completion must both find their row, or nothing commits.
 */
import { PawlError } from '@pawl/core'
import type { Ledger } from '../connect.ts'
import { withTransaction, type Transaction } from '../transaction.ts'
import type { Holder } from './settle.ts'

export interface TransactionalResult {
  readonly result: string
  readonly undo: string | null
}

/** Throws `FENCED` (next: drop) when the item is no longer this holder's; then nothing of it was committed. */
export async function commitTransactional(
  ledger: Ledger, by: Holder, call: { key: string; token: string; timeoutMs: number }, work: (tx: Transaction) => Promise<TransactionalResult>,
): Promise<TransactionalResult> {
  return await withTransaction(ledger, { timeoutMs: call.timeoutMs }, async (tx) => {
    const done = await work(tx)
    const fence = await tx.query(`update pawl.items i set barren_attempts = 0
      where i.run_id = $1 and i.seq = $2 and i.epoch = $3 and i.status = 'in_progress' returning i.seq`, [by.runId, by.seq, by.epoch])
    const completed = fence.rowCount === 0 ? fence : await tx.query(`update pawl.actions a set status = 'committed', result = $4, undo = coalesce($5, a.undo), settled_by = 'worker',
        committed_at = clock_timestamp(), error = null where a.run_id = $1 and a.key = $2 and a.token = $3 and a.status = 'started' returning a.undoes`,
    [by.runId, call.key, call.token, done.result, done.undo])
    if (completed.rowCount === 0) {
      throw new PawlError('FENCED', `Item ${by.seq} of run ${by.runId} was taken over before its transaction committed; nothing of it was written.`, 'drop')
    }
    await tx.query(`update pawl.actions o set status = 'compensated' from pawl.actions a
      where a.run_id = $1 and a.key = $2 and o.run_id = a.run_id and o.id = a.undoes and o.status = 'committed'`, [by.runId, call.key])
    return done
  })
}
