/** Every error as a page (or JSON, for whoever did not ask for a page): the sentence and the way out, never a trace. */
import { PawlError } from '@pawl/core'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Logger } from 'pino'
import { ZodError } from 'zod'

export interface Problem {
  readonly status: ContentfulStatusCode
  readonly title: string
  readonly code: string
  readonly sentence: string
}

const known: Readonly<Record<string, readonly [ContentfulStatusCode, string]>> = {
  NOT_FOUND: [404, 'Not found'], FORBIDDEN: [403, 'Not allowed'], FOREIGN_ORIGIN: [403, 'Refused'], FOREIGN_HOST: [403, 'Refused'], STALE_FORM: [403, 'Refused'],
  BAD_REQUEST: [400, 'Not understood'], METHOD_NOT_ALLOWED: [405, 'Not allowed'], PAGES_NOT_BUILT: [503, 'The pages are not built'], TOO_BIG: [413, 'Too big'], PRODUCER_UNREACHABLE: [503, 'The producer does not answer'],
  WRONG_STATE: [409, 'Not possible now'], DOUBT_CHANGED: [409, 'It changed meanwhile'], BLOCK_CHANGED: [409, 'It changed meanwhile'], QUESTION_ANSWERED: [409, 'Answered already'], BAD_ANSWER: [422, 'The answer does not fit'], TOO_EARLY: [409, 'Too early'], EVIDENCE_SAYS_APPLIED: [409, 'It is known to have happened'], RUN_CHANGED: [409, 'It changed meanwhile'],
}

export function problemOf(error: unknown, log: Logger): Problem {
  if (error instanceof PawlError) {
    if (error.code === 'UNAUTHENTICATED') {
      return { status: 502, title: 'The producer refuses the dashboard', code: error.code, sentence: 'PAWL_PRODUCER_TOKEN is missing or not among the producer’s PAWL_TOKENS. Set it and start the dashboard again.' }
    }
    const [status, title] = known[error.code] ?? [error.next === 'tell' ? 400 : 502, error.next === 'tell' ? 'Refused' : 'The producer failed']
    return { status, title, code: error.code, sentence: error.message }
  }
  if (error instanceof ZodError) {
    log.error({ issues: error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.')}: ${message}`) }, 'the producer answered in another shape')
    return { status: 502, title: 'The producer speaks another version', code: 'PRODUCER_OTHER_VERSION', sentence: 'Its answer has not the shape this dashboard knows. Run both in the same version.' }
  }
  log.error({ err: error }, 'a page failed')
  return { status: 500, title: 'Something broke', code: 'INTERNAL', sentence: 'The dashboard’s log says what. Nothing was changed by showing a page.' }
}
