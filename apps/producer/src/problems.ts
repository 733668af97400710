/** Every refusal is an RFC 9457 problem document with a stable `code` and a sentence that says what to do. */
import { PawlError } from '@pawl/core'
import type { Logger } from 'pino'
import { z } from 'zod'

const statuses: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401, FORBIDDEN: 403, APPROVER_IS_REQUESTER: 403, FOREIGN_ORIGIN: 403, NOT_FOUND: 404, METHOD_NOT_ALLOWED: 405, TOO_SLOW: 408, TOO_LARGE: 413, BODY_TOO_LARGE: 413, TOO_MANY_ITEMS: 413, BULK_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  WRONG_STATE: 409, STREAM_IN_PROGRESS: 409, STREAM_CLOSED: 409, DOUBT_CHANGED: 409, BLOCK_CHANGED: 409, QUESTION_ANSWERED: 409, APPROVAL_CHANGED: 409, APPROVAL_DECIDED: 409, APPROVAL_EXPIRED: 409, TOO_EARLY: 409, EVIDENCE_SAYS_APPLIED: 409,
  BAD_INPUT: 422, BAD_PAYLOAD: 422, BAD_ITEM_KEY: 422, BAD_RESULT: 422, BAD_ANSWER: 422,
  LEDGER_UNREACHABLE: 503, QUEUE_UNREACHABLE: 503, COMMIT_UNKNOWN: 503,
}

export const problemSchema = z.object({ type: z.string(), title: z.string(), status: z.number().int(), code: z.string(), detail: z.string() }).loose()
export type Problem = z.infer<typeof problemSchema>

export function statusOf(error: PawlError): number {
  return statuses[error.code] ?? (error.next === 'retry' ? 503 : error.code.startsWith('BAD_') || error.code.startsWith('MALFORMED_') ? 400 : 422)
}

export function problemOf(thrown: unknown, log: Logger): Problem {
  if (thrown instanceof PawlError) {
    const status = statusOf(thrown)
    if (status >= 500) log.warn({ code: thrown.code, cause: thrown.cause instanceof Error ? thrown.cause.message : undefined }, thrown.message)
    return { ...thrown.details, ...base(status, thrown.code), detail: thrown.message }
  }
  log.error({ err: thrown }, 'a request failed unexpectedly')
  return { ...base(500, 'INTERNAL'), detail: 'The producer failed; its log says why. Whether it acted is unknown: ask again, starts with the same Idempotency-Key.' }
}

const base = (status: number, code: string) => ({ type: 'about:blank', title: code.toLowerCase().replaceAll('_', ' '), status, code })

export function problemResponse(problem: Problem): Response {
  const headers: Record<string, string> = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' }
  if (problem.status === 401) headers['www-authenticate'] = 'Bearer'
  if (problem.status === 503 || problem.code === 'STREAM_IN_PROGRESS') headers['retry-after'] = '5'
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}
