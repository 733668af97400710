/** A person's answer to a question of an agent: checked by the schema the question was asked with, then written once. */
import { checkAnswer, encode, limits, PawlError } from '@pawl/core'
import { answerQuestion, getQuestion, wakeItems, type QuestionView } from '@pawl/ledger'
import { questionOf } from './from-ledger.ts'
import { checkReason, requireRun, type Parts } from './parts.ts'
import type { Question } from './wire.ts'

export async function answer(parts: Parts, runId: string, questionId: number, value: unknown, given: { note?: string | undefined } = {}): Promise<Question> {
  const note = checkReason(given.note, 'note')
  await requireRun(parts, runId)
  const asked = await getQuestion(parts.ledger, runId, questionId)
  if (asked === undefined) throw unknownQuestion(runId, questionId)
  // Somebody else was first: that is what the caller has to know, whatever the answer looks like.
  if (asked.status !== 'answered') checkAnswer(asked.answerSchema, value)
  const { outcome } = await answerQuestion(parts.ledger, runId, questionId, { value: encode(value, { what: 'answer', maxBytes: limits.answerBytes }), actor: parts.actor, note })
  const after = await getQuestion(parts.ledger, runId, questionId)
  if (outcome === 'missing' || after === undefined) throw unknownQuestion(runId, questionId)
  if (outcome === 'taken') throw taken(after)
  if (outcome === 'closed') throw new PawlError('WRONG_STATE', `Question ${questionId} of run ${runId} needs no answer any more: its item has ended. If the run is resumed and asks again, it is in the inbox again.`, 'tell', { state: after.status })
  await wakeItems(parts.ledger, runId)
  await parts.ring(runId)
  return questionOf(after)
}

function taken({ runId, id, answeredBy, answeredAt }: QuestionView): PawlError {
  const when = answeredAt?.toISOString() ?? null
  return new PawlError('QUESTION_ANSWERED', `Question ${id} of run ${runId} was answered by ${answeredBy ?? 'somebody'} at ${when ?? 'an unknown time'}; that answer stands, and the item goes on with it.`, 'tell', { answeredBy, answeredAt: when })
}

const unknownQuestion = (runId: string, questionId: number): PawlError => new PawlError('NOT_FOUND', `Run ${runId} has no question ${questionId}. The inbox lists the open ones.`, 'tell')
