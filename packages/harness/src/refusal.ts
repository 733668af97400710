/** A send that is proved not applied, as the ledger keeps it: with what the next attempt needs to know about it. */
import { recordError, type ErrorRecord } from '@pawl/core'
import { addRefusal, type ActionRow } from '@pawl/ledger'
import type { Attempt } from './attempt.ts'
import type { Call } from './call.ts'
import { Parked } from './parked.ts'

/** What `error` keeps of a refused action beside the error itself. */
export interface Refusal extends ErrorRecord {
  /** Sends that count against the tool's retries. */
  readonly tries?: number
  /** The newest action there was when the agent was given the error: whatever has a higher id came after it. */
  readonly after?: number
  /** How many records there were then. */
  readonly records?: number
  /** How many turns there were then. */
  readonly turns?: number
  /** How many questions. */
  readonly questions?: number
}

/** Where the journal stands when the agent is given an error. */
export const standing = ({ journal }: Attempt): Pick<Refusal, 'after' | 'records' | 'turns' | 'questions'> => ({
  after: journal.newestId(), records: journal.recordCount, turns: journal.turnCount, questions: journal.questionCount,
})

/** Sends of an earlier attempt that count against the retries; none once the agent was given the error. */
export function triesOf(action: ActionRow): number {
  const refusal = action.error === null ? undefined : (JSON.parse(action.error) as Partial<Refusal>)
  return refusal?.code === 'unsent' ? (refusal.tries ?? 0) : 0
}

/** Records a send that is proved not applied. `started`: an earlier send under the key is not. */
export async function refuse(attempt: Attempt, call: Call, action: ActionRow, outcome: 'refused' | 'unsent', error: Refusal): Promise<'failed' | 'started'> {
  const answer = await attempt.completion({ key: call.key, token: action.token ?? '', outcome, result: null, error: JSON.stringify(error), undo: null })
  if (answer.outcome !== 'recorded') {
    await tellRefused(attempt, call.key, action.token, error)
    throw new Parked()
  }
  const status = answer.status === 'started' ? 'started' : 'failed'
  attempt.put({ ...action, status, error: JSON.stringify(error), refused: action.refused + 1 })
  return status
}

/**
 * The item is no longer this attempt's, but that this send is not, and will not be, is known here alone: without it a person would be asked about
 * a call that nobody made. `token` names the send; null where the ledger has counted it already.
 */
export async function tellRefused(attempt: Attempt, key: string, token: string | null, error: ErrorRecord): Promise<void> {
  if (token === null) return
  try {
    // Whoever settles it tells no agent: what is recorded is sent again when it is asked for.
    await addRefusal(attempt.parts.ledger, attempt.run.id, { key, token, error: JSON.stringify({ ...error, code: 'unsent' }) })
  } catch (thrown) {
    attempt.parts.log('warn', `that a call was not sent could not be told: ${recordError(thrown).message}`, attempt.place)
  }
}

const neverSent: ErrorRecord = { name: 'NotSent', message: 'the item was lost before the call was sent' }

/** Where the write that would allow a send says `fenced`, or fails, nothing is sent; an earlier try at it, whose answer was lost, may be in the ledger all the same. */
export async function toldIfUnsent<T extends { readonly outcome: string }>(attempt: Attempt, key: string, token: string, write: Promise<T>): Promise<T> {
  let answer: T | undefined
  try {
    answer = await write
    return answer
  } finally {
    if (answer === undefined || answer.outcome === 'fenced') await tellRefused(attempt, key, token, neverSent)
  }
}
