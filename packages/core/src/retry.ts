/** How a tool's refused sends, or an item's failures, are spaced. */
export interface RetryPolicy {
  /** Sends in all, the first included. */
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly backoff: 'exponential' | 'fixed'
}

export const toolRetry: RetryPolicy = { attempts: 3, firstDelayMs: 200, maxDelayMs: 10_000, backoff: 'exponential' }
export const itemRetry: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, firstDelayMs: 1_000, maxDelayMs: 300_000, backoff: 'exponential' }

/** Delay after failure `n` (1-based), with up to 20 % taken off so that a fleet does not retry in step. */
export function delayMs(n: number, policy: RetryPolicy, random: () => number = Math.random): number {
  const full = policy.backoff === 'fixed' ? policy.firstDelayMs : policy.firstDelayMs * 2 ** Math.min(n - 1, 30)
  return Math.round(Math.min(full, policy.maxDelayMs) * (1 - 0.2 * random()))
}
