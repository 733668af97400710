import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { questionRow } from '../rows.ts'
import { runVerbOnce } from './run-verb.ts'
import type { Holder } from './settle.ts'

const asked = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['open', 'answered', 'conflict']), question: questionRow }),
  z.object({ outcome: z.literal('fenced'), question: z.null() }),
])

/** `ask_question`: `open` waits for a person, `answered` has the answer, `conflict` has what the key was used for. */
export async function askQuestion(ledger: Ledger, by: Holder, question: { key: string; text: string; answerSchema: string }): Promise<z.infer<typeof asked>> {
  return await runVerbOnce(ledger, 'ask_question', [by.runId, by.seq, by.epoch, question.key, question.text, question.answerSchema], asked, { retryForMs: 60_000 })
}

const answered = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['answered', 'taken', 'closed']), question: questionRow }),
  z.object({ outcome: z.literal('missing'), question: z.null() }),
])

/** `answer_question`: the first answer stands; `taken` has it. The answer must have been checked against the question's schema. */
export async function answerQuestion(ledger: Ledger, runId: string, questionId: number, answer: { value: string; actor: string; note?: string | null }): Promise<z.infer<typeof answered>> {
  return await runVerbOnce(ledger, 'answer_question', [runId, questionId, answer.value, answer.actor, answer.note ?? null], answered, { retryForMs: 5_000 })
}
