/**
 * One decision asked of the model. Its errors are the loop's own affair: a provider that is busy, broken or away is asked again with backoff and spends
 * neither failures nor crash budget; a long Retry-After gives the worker back; one that stays broken for `patienceMs` fails the item, whose finished calls
 * are replayed by the next attempt, never repeated. No layer below retries.
 */
import { APICallError, type LanguageModelV3CallOptions } from '@ai-sdk/provider'
import { delayMs, PawlError, recordError, waitMs, type RetryPolicy } from '@pawl/core'
import { never, type Attempt } from '../attempt.ts'
import { startWatch } from '../watch.ts'
import type { ModelAnswer } from './decision.ts'
import type { Loop } from './options.ts'
import { readStream, type TurnDelta } from './stream.ts'

const retry: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, firstDelayMs: 500, maxDelayMs: 30_000, backoff: 'exponential' }
/** Longer pauses give the worker back. */
const longestPauseMs = 10_000

/** Never settles once the attempt is over. Throws `MODEL_UNAVAILABLE`, or `MODEL_REFUSED` for what asking again would not change. */
export async function askModel(attempt: Attempt, loop: Loop, n: number, options: LanguageModelV3CallOptions): Promise<ModelAnswer> {
  const answer = await askUntilAnswered(attempt, loop, n, options)
  return answer && !attempt.ending ? answer : await never()
}

/** Undefined: the attempt is over. */
async function askUntilAnswered(attempt: Attempt, loop: Loop, n: number, options: LanguageModelV3CallOptions): Promise<ModelAnswer | undefined> {
  const leave = attempt.enter()
  try {
    const begun = startWatch()
    for (let tries = 1; ; tries++) {
      if (attempt.ending || attempt.isLost) return undefined
      try {
        return await askOnce(attempt, loop, n, options)
      } catch (error) {
        if (attempt.ending) return undefined
        const pauseMs = pauseAfter(loop, error, tries, begun.elapsedMs())
        attempt.parts.log('warn', `the model did not answer turn ${n}, asked ${tries} times: ${inALog(error)}`, attempt.place)
        if (pauseMs > longestPauseMs && isRateLimit(error)) {
          attempt.park({ kind: 'sleep', delayMs: pauseMs })
          return undefined
        }
        tell(attempt, loop, n)({ kind: 'again' })
        await waitMs(pauseMs, attempt.signal)
      }
    }
  } finally {
    leave()
  }
}

async function askOnce(attempt: Attempt, loop: Loop, n: number, options: LanguageModelV3CallOptions): Promise<ModelAnswer> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new DOMException(`no answer within ${loop.modelTimeoutMs} ms`, 'TimeoutError')), Math.min(loop.modelTimeoutMs, 2 ** 31 - 1))
  const abortSignal = AbortSignal.any([attempt.signal, over.signal])
  // A model that does not listen to its signal must not hold the item.
  const aborted = new Promise<never>((_, reject) => {
    abortSignal.addEventListener('abort', () => { reject(abortSignal.reason as Error) }, { once: true })
  })
  aborted.catch(() => {})
  const answering = loop.isWatched || attempt.parts.onTurnDelta ? stream(attempt, loop, n, { ...options, abortSignal }) : Promise.resolve(loop.model().doGenerate({ ...options, abortSignal }))
  answering.catch(() => {})
  try {
    const answer = await Promise.race([answering, aborted])
    // What `ai` 7 calls interrupted is half an answer, too.
    const ended: string = answer.finishReason.unified
    if (ended === 'error' || ended === 'interrupted') throw new Error('the model ended its answer with an error')
    if (ended === 'content-filter') throw new PawlError('MODEL_REFUSED', `${loop.modelVersion} was stopped by its provider's content filter.`, 'fail', { model: loop.modelVersion })
    return answer
  } finally {
    clearTimeout(timer)
  }
}

const stream = async (attempt: Attempt, loop: Loop, n: number, options: LanguageModelV3CallOptions): Promise<ModelAnswer> =>
  await readStream((await loop.model().doStream(options)).stream, tell(attempt, loop, n))

/** Watchers are told as long as the attempt is on; what they throw is their own affair. */
function tell(attempt: Attempt, loop: Loop, n: number): (delta: TurnDelta) => void {
  const place = { runId: attempt.run.id, seq: attempt.item.seq, turn: n }
  return (delta) => {
    if (attempt.ending) return
    for (const watcher of [loop.onDelta, attempt.parts.onTurnDelta]) {
      try {
        watcher?.(delta, place)
      } catch (error) {
        attempt.parts.log('warn', `a watcher of turn ${n} threw: ${recordError(error).message}`, attempt.place)
      }
    }
  }
}

/** Milliseconds to wait before the model is asked again. Throws where it should not be. */
function pauseAfter(loop: Loop, error: unknown, tries: number, elapsedMs: number): number {
  const { message } = recordError(error)
  if (error instanceof PawlError) throw error
  if (!isPassing(error)) throw new PawlError('MODEL_REFUSED', `${loop.modelVersion} refused the request: ${message}`, 'fail', { model: loop.modelVersion }, { cause: error })
  const pauseMs = Math.max(retryAfterMs(error), delayMs(tries, retry))
  if (isRateLimit(error)) return pauseMs
  if (elapsedMs + pauseMs > loop.patienceMs) {
    throw new PawlError('MODEL_UNAVAILABLE', `${loop.modelVersion} did not answer for ${Math.round(elapsedMs / 1_000)} s, asked ${tries} times; last: ${message}`, 'fail', { model: loop.modelVersion }, { cause: error })
  }
  return pauseMs
}

/** Without what the provider wrote, which may quote the prompt or a part of the key. The item's error has all of it, for those who may look. */
export function inALog(error: unknown): string {
  if (APICallError.isInstance(error)) return error.statusCode === undefined ? 'no answer' : `it answered ${error.statusCode}`
  return error instanceof PawlError ? error.code : error instanceof Error ? error.name : 'no error'
}

const isRateLimit = (error: unknown): boolean => APICallError.isInstance(error) && error.statusCode === 429

/** A provider's answer says so itself; what never became an answer (a reset, a deadline, a broken stream) passes. A mistake of ours does not. */
function isPassing(error: unknown): boolean {
  if (APICallError.isInstance(error)) return error.isRetryable || error.statusCode === undefined || error.statusCode < 400 || [408, 409, 429].includes(error.statusCode) || error.statusCode >= 500
  const name = error instanceof Error ? error.name : ''
  return !name.startsWith('AI_') || name === 'AI_EmptyResponseBodyError' || name === 'AI_JSONParseError' || name === 'AI_InvalidResponseDataError'
}

function retryAfterMs(error: unknown): number {
  const value = APICallError.isInstance(error) ? error.responseHeaders?.['retry-after'] : undefined
  if (value === undefined) return 0
  const seconds = Number(value)
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 24 * 3_600_000) : 0
}
