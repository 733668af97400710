/**
 * One question to a person. It is in the ledger before the item waits for it, and so is everything the item did before; an answer in the ledger is
 * given back on every attempt without asking. A question that is open parks the attempt: other calls under way finish first, and the item blocks in
 * a function that looks for the answer once more with the item locked. Reads: the journal. Writes: the question. Never an answer.
 */
import { answerSchemaOf, decode, limits, PawlError, recordError } from '@pawl/core'
import { askQuestion, type QuestionRow } from '@pawl/ledger'
import type { z } from 'zod'
import { isLedgerAway, never, type Attempt, type Ending } from './attempt.ts'

interface Question {
  readonly key: string
  readonly text: string
  readonly answerSchema: string
}

export function ask<T>(attempt: Attempt, text: string, schema: z.ZodType<T>, own: string | undefined): Promise<T> {
  if (attempt.ending) return never<T>()
  let question: Question
  try {
    question = prepare(attempt, text, schema, own)
  } catch (error) {
    return Promise.reject(error as Error)
  }
  // An agent may drop the promise; it is waited for all the same.
  const leave = attempt.enter(true)
  const answer = answerTo(attempt, question).catch((error: unknown) => {
    attempt.park(isLedgerAway(error) ? { kind: 'interrupted' } : { kind: 'failure', error: recordError(error) })
    return undefined
  }).finally(leave).then((kept) => (kept === undefined || attempt.ending ? never<T>() : fit(attempt, kept, schema)))
  answer.catch(() => {})
  return answer
}

/** Synchronous, as with calls: the order in which an agent asks is the order of its questions. */
function prepare(attempt: Attempt, text: string, schema: z.ZodType, own: string | undefined): Question {
  if (typeof text !== 'string' || text.trim() === '' || text.length > limits.questionChars || text.includes('\u0000') || /\p{Surrogate}/u.test(text)) {
    throw new PawlError('BAD_QUESTION', `ctx.ask: a question is text of 1 to ${limits.questionChars} characters without NUL.`, 'fail')
  }
  if (own !== undefined && (own === '' || own.length > limits.itemKeyChars || own.includes('\u0000') || /\p{Surrogate}/u.test(own))) {
    throw new PawlError('BAD_QUESTION', `ctx.ask: a question's key is text of 1 to ${limits.itemKeyChars} characters without NUL.`, 'fail')
  }
  const answerSchema = answerSchemaOf(schema)
  if (own !== undefined) return { key: `own:${own}`, text, answerSchema }
  const key = String(attempt.ordinal('question'))
  if (attempt.ordinal(`question:${text}`) > 1 && attempt.hasBranches) {
    throw new PawlError('QUESTION_ORDER', 'ctx.ask: the same question is asked a second time in an item whose calls run beside each other; on another attempt one branch could get the other\'s answer. Give each a key of its own: ctx.ask(question, schema, { key }).', 'fail')
  }
  return { key, text, answerSchema }
}

/** The recorded answer, encoded; undefined when the attempt ends here. */
async function answerTo(attempt: Attempt, question: Question): Promise<string | undefined> {
  const kept = attempt.journal.question(question.key)
  if (kept?.status === 'answered' && isSame(kept, question)) return kept.answer ?? undefined
  const place = { ...attempt.holder, tool: 'ctx.ask', key: question.key }
  await attempt.parts.failpoint('before-intent', place)
  await attempt.durable()
  // Of questions asked beside each other all are written, whichever was the first to park.
  if (attempt.ending && attempt.ending.kind !== 'blocked') return undefined
  const asked = await askQuestion(attempt.parts.ledger, attempt.holder, question)
  if (asked.outcome === 'fenced') attempt.park({ kind: 'lost' })
  if (asked.question === null) return undefined
  attempt.journal.noteQuestion(asked.question)
  await attempt.parts.failpoint('after-intent', place)
  if (asked.outcome === 'answered') return asked.question.answer ?? undefined
  if (asked.outcome === 'open') {
    attempt.questions.add(asked.question.id)
    // Siblings go on first: one whose yes is there would be stopped at its guard, on every attempt, until this is answered.
    await attempt.whenIdle()
  }
  attempt.park(asked.outcome === 'open' ? { kind: 'blocked', reason: 'question', detail: { question: asked.question.id, key: question.key } } : conflict(asked.question, question))
  return undefined
}

const isSame = (kept: QuestionRow, { text, answerSchema }: Question): boolean => kept.question === text && kept.answer_schema === answerSchema

/** Nothing is asked and nothing lost: the recorded question keeps its answer, or waits for it. */
function conflict(kept: QuestionRow, asked: Question): Ending {
  return {
    kind: 'blocked', reason: 'conflict',
    detail: {
      question: kept.id, key: kept.key, recorded: kept.question, attempted: asked.text, ...(kept.question === asked.text ? { schema: 'another' } : {}),
      why: 'The agent asks something else where the ledger has this question. Ask in the recorded words, or give the new question a key of its own.',
    },
  }
}

/** Checked by its JSON Schema when it was given; what only zod knows is found here, and no attempt could make it fit. */
function fit<T>(attempt: Attempt, answer: string, schema: z.ZodType<T>): T | Promise<T> {
  const parsed = schema.safeParse(decode(answer))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  attempt.park({
    kind: 'failure', isFinal: true,
    error: { name: 'BadAnswer', code: 'BAD_ANSWER', message: `The recorded answer does not fit the agent's schema at "${['answer', ...(issue?.path ?? [])].map(String).join('.')}": ${issue?.message ?? 'does not fit'}. Ask by a schema that JSON Schema can express, check the rest in the agent's code, and resume the run.` },
  })
  return never<T>()
}
