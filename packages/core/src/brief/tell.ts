/**
 * The sentences a model reads about one action or question. The first line of every result is Pawl's own, so that nothing a tool returned can pass for it;
 * it holds the key, by which the model, a person and the ledger speak of the same thing.
 */
import type { ActionStatus } from '../words.ts'
import type { Detail } from './detail.ts'
import type { BriefAction, BriefQuestion } from './facts.ts'
import { cut, show, wellFormed } from './show.ts'

const standing: Record<ActionStatus, string> = {
  committed: 'done',
  started: 'outcome unknown: it was sent or about to be, and nothing says what became of it; do not call it again',
  in_doubt: 'outcome unknown: a person is finding out whether it happened; do not call it again',
  abandoned: 'outcome unknown for ever: a person gave up finding out; do not call it again',
  failed: 'failed: it did not happen',
  awaiting_approval: 'not sent: it waits for a person\'s approval',
  rejected: 'not sent: a person said no',
  staged: 'accepted: it is sent once the whole run is done',
  discarded: 'discarded: it was never sent',
  compensated: 'undone',
}

export const isOpen = (status: ActionStatus): boolean => status === 'started' || status === 'in_doubt' || status === 'awaiting_approval' || status === 'staged'
export const isUnknown = (status: ActionStatus): boolean => status === 'started' || status === 'in_doubt' || status === 'abandoned'

/** What the model gets as the result of the call that made this action. */
export function tellResult(action: BriefAction, detail: Detail): { type: 'text' | 'error-text'; value: string } {
  const head = `[${standing[action.status]} · key ${action.key}]`
  const isError = action.status === 'failed' || action.status === 'rejected'
  const body = action.status === 'committed' ? show(action.result) : action.error
  return { type: isError ? 'error-text' : 'text', value: wellFormed(body === null ? head : `${head}\n${cut(body, detail.verbatim)}`) }
}

/** The same call told again in a later turn, or earlier in the same: its result stands there. */
export const tellRepeated = (key: string): string => wellFormed(`[same call as one already shown · key ${key}]`)

export function tellAnswer(question: BriefQuestion, detail: Detail): string {
  const head = `[${question.status === 'answered' ? 'a person answered' : question.status === 'open' ? 'a person was asked and has not answered yet' : 'no longer asked'} · key ${question.key}]`
  return wellFormed(question.status === 'answered' ? `${head}\n${cut(show(question.answer), detail.verbatim)}` : head)
}

/** One line. */
export function digestAction(action: BriefAction, detail: Detail): string {
  const head = `- ${action.name} · key ${action.key} · ${standing[action.status].split(':')[0]}`
  if (detail.line === 0) return wellFormed(head)
  const body = action.status === 'committed' ? show(action.result) : action.error
  return wellFormed(`${head} · ${cut(show(action.args), detail.line)}${body === null ? '' : ` → ${cut(oneLine(body), detail.line)}`}`)
}

export function digestQuestion(question: BriefQuestion, detail: Detail): string {
  const answer = question.status === 'answered' ? cut(show(question.answer), detail.words) : question.status === 'open' ? 'not answered yet' : 'no longer asked'
  return wellFormed(`- asked a person · key ${question.key} · ${cut(oneLine(question.question), detail.words)} → ${answer}`)
}

export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
