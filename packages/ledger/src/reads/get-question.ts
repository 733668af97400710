import { isUuid, QUESTION_STATUSES, type QuestionStatus } from '@pawl/core'
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { questions } from '../schema.ts'
import { readsOn } from './database.ts'

export interface QuestionView {
  readonly runId: string
  readonly id: number
  readonly itemSeq: number
  /** Which question of its item. */
  readonly key: string
  readonly question: string
  /** JSON Schema of the answer, as text. */
  readonly answerSchema: string
  readonly status: QuestionStatus
  /** Encoded. */
  readonly answer: string | null
  readonly askedAt: Date
  readonly answeredBy: string | null
  readonly answeredAt: Date | null
}

export const questionColumns = {
  runId: questions.runId, id: questions.id, itemSeq: questions.itemSeq, key: questions.key, question: questions.question, answerSchema: questions.answerSchema,
  status: questions.status, answer: questions.answer, askedAt: questions.askedAt, answeredBy: questions.answeredBy, answeredAt: questions.answeredAt,
}
const words = z.object({ status: z.enum(QUESTION_STATUSES) })

export const questionView = <R extends { status: string }>(row: R): R & z.infer<typeof words> => ({ ...row, ...words.parse(row) })

export async function getQuestion(ledger: Ledger, runId: string, id: number): Promise<QuestionView | undefined> {
  if (!isUuid(runId) || !Number.isSafeInteger(id)) return undefined
  const [row] = await readsOn(ledger).select(questionColumns).from(questions).where(and(eq(questions.runId, runId), eq(questions.id, id)))
  return row === undefined ? undefined : questionView(row)
}
