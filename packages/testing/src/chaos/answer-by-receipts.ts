/** What a person of a chaos run answers to a doubt: by what the receiver logged, and never by what the ledger says. */
import { encode } from '@pawl/core'
import { answerDoubt, wakeItems, type ActionRow, type Ledger } from '@pawl/ledger'
import type { Receiver } from './receiver.ts'

const question = `select row_to_json(a.*) as action from pawl.actions a where a.status = 'in_doubt' and a.answerable_at <= clock_timestamp() order by a.run_id, a.id limit 200`

/** Doubts that may be answered by now. */
export async function listDoubts(ledger: Ledger): Promise<ActionRow[]> {
  return (await ledger.query<{ action: ActionRow }>(question)).map((row) => row.action)
}

/** Undefined: the ledger took no answer, because something about the action had changed. */
export async function answerByReceipts(ledger: Ledger, effects: Receiver, action: ActionRow): Promise<'happened' | 'did_not' | undefined> {
  const applied = effects.receiptsOf(action.key).find((receipt) => receipt.applied)
  const answer = applied ? 'happened' : 'did_not'
  const { outcome } = await answerDoubt(ledger, action.run_id, action.id, {
    attempt: action.attempt, evidence: action.evidence.length, answer,
    result: applied ? encode({ ref: `said by a person of ${applied.n}` }, { what: 'answer' }) : null, actor: 'ann',
  })
  await wakeItems(ledger, action.run_id)
  return outcome === 'answered' ? answer : undefined
}
