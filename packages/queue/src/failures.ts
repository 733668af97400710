/** What goes wrong between us and the store: deadlines on every call, and a throttle, because an outage emits errors by the thousand. */
import { PawlError } from '@pawl/core'

export class DeadlineMissed extends Error {
  override readonly name = 'DeadlineMissed'
}

/** Settles as `work` does, or rejects with `DeadlineMissed`. A late rejection of `work` is swallowed. */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const missed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => { reject(new DeadlineMissed(`no answer within ${deadlineMs} ms`)) }, deadlineMs)
  })
  try {
    return await Promise.race([work, missed])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for `work`, but not longer than the deadline, and never rejects. True: it settled in time. */
export async function settleWithin(work: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  try {
    await withDeadline(work, deadlineMs)
    return true
  } catch (error) {
    return !(error instanceof DeadlineMissed)
  }
}

/** Drivers hang commands on their errors, passwords among their arguments: name, message and code only. */
export function plainError(thrown: unknown): Error & { code?: string } {
  const from = thrown instanceof Error ? thrown : new Error(String(thrown))
  const code = (from as { code?: unknown }).code
  const plain: Error & { code?: string } = new Error(from.message || (typeof code === 'string' ? code : from.name))
  plain.name = from.name
  if (typeof code === 'string') plain.code = code
  return plain
}

export function unreachable(backend: string, address: string, what: string, cause: unknown): PawlError {
  const plain = plainError(cause)
  return new PawlError(
    'QUEUE_UNREACHABLE',
    `The queue's ${backend} at ${address} failed while ${what} (${plain.message}). Nothing is lost: the ledger rings again. Check that the server runs and that the address is right.`,
    'retry', { backend, address }, { cause: plain },
  )
}

const quietMs = 10_000

/** Passes on the first error of a kind, then one per 10 s that says how many were held back. */
export function throttleErrors(onError: (error: Error, where: string) => void): (thrown: unknown, where: string) => void {
  const seen = new Map<string, { until: number; held: number }>()
  return (thrown, where) => {
    const error = plainError(thrown)
    const kind = `${where} ${error.code ?? error.message.replaceAll(/[0-9a-f-]{8,}|\d+/gi, '#')}`
    const now = performance.now()
    const known = seen.get(kind)
    if (known !== undefined && now < known.until) {
      known.held++
      return
    }
    if (known !== undefined && known.held > 0) error.message += ` (and ${known.held} more like it before)`
    for (const [other, { until }] of seen) if (until < now - quietMs) seen.delete(other)
    seen.set(kind, { until: now + quietMs, held: 0 })
    try {
      onError(error, where)
    } catch {
      // The listener's own fault must not end a worker.
    }
  }
}
