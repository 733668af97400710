import ms from 'ms'
import { PawlError } from './errors.ts'

/** `'20s'`, `'24h'`, `'7d'`, or milliseconds as a number. */
export type Duration = string | number

/** Milliseconds of a duration. Refuses negatives, NaN and text `ms` does not know, naming the field. */
export function durationMs(value: Duration, field: string): number {
  const parsed = typeof value === 'number' ? value : ms(value as ms.StringValue)
  if (typeof parsed !== 'number' || !Number.isFinite(parsed) || parsed < 0) {
    throw new PawlError('BAD_DURATION', `${field}: "${value}" is not a duration. Write milliseconds, or text like "20s", "5m", "24h".`)
  }
  return parsed
}

/** Of Node's timers: what is longer becomes 1 ms. */
export const longestTimerMs = 2 ** 31 - 1

/** A timer that survives durations over 24.8 days (Node turns those into 1 ms). Resolves early, without error, when `signal` aborts. */
export async function waitMs(durationInMs: number, signal?: AbortSignal): Promise<void> {
  for (let left = durationInMs; left > 0 && !signal?.aborted; left -= longestTimerMs) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, Math.min(left, longestTimerMs))
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done, { once: true })
    })
  }
}
