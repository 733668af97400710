/** What comes in with a request, checked. A query nobody wrote is refused rather than guessed at. */
import { ITEM_KINDS, ITEM_STATUSES, parseJson, PawlError, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'
import { VERBS } from './pages/verb.ts'

/** A form sends its empty fields too. */
const text = z.string().max(2_000).optional().transform((value) => (value === undefined || value.trim() === '' ? undefined : value.trim()))
const optional = <T extends z.ZodType>(schema: T) => z.preprocess((value) => (value === '' ? undefined : value), schema.optional())
const whole = z.string().regex(/^\d{1,15}$/).transform(Number)

export const runsQuery = z.object({ status: optional(z.enum(RUN_STATUSES)), agent: text, label: text, cursor: text })
export const itemsQuery = z.object({ status: optional(z.enum(ITEM_STATUSES)), kind: optional(z.enum(ITEM_KINDS)), cursor: text })
export const actionsQuery = z.object({ cursor: text })
export const inboxQuery = z.object({ run: text, cursor: text })
export const verbParams = z.object({ verb: z.enum(VERBS) })
export const seqParam = z.object({ seq: whole })
export const actionParam = z.object({ action: whole })
export const verbForm = z.object({ seen: z.string(), reason: text })
export const answerForm = z.object({ answer: z.enum(['happened', 'did_not', 'abandon']), attempt: whole, evidence: whole, result: z.string().optional(), note: text, run: text })
export const questionParam = z.object({ question: whole })
export const questionForm = z.object({ answer: z.string(), note: text, run: text })
export const releaseForm = z.object({ verb: z.enum(['resume', 'fail']), newCalls: z.string().optional(), note: text, run: text })

/** Throws `BAD_REQUEST` naming the field. */
export function check<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new PawlError('BAD_REQUEST', `${issue?.path.join('.') ?? 'The request'}: ${issue?.message ?? 'is wrong'}. Go back and try again.`)
}

export function labelsOf(label: string | undefined): Record<string, string> | undefined {
  if (label === undefined) return undefined
  const at = label.indexOf(':')
  if (at < 1) throw new PawlError('BAD_REQUEST', 'label: write name:value.')
  return { [label.slice(0, at)]: label.slice(at + 1) }
}

/** The value a person wrote, or nothing. */
export function jsonOf(written: string | undefined, field = 'result'): unknown {
  if (written === undefined || written.trim() === '') return undefined
  try {
    return parseJson(written, field)
  } catch (error) {
    if (error instanceof PawlError && error.code !== 'MALFORMED_JSON') throw new PawlError('BAD_REQUEST', error.message)
    const why = error instanceof PawlError ? error.cause : error
    throw new PawlError('BAD_REQUEST', `${field}: is no JSON (${why instanceof Error ? why.message : 'it cannot be read'}). Texts need quotes.`)
  }
}
