/**
 * Ids that several processes come to without telling each other: the trace of a run that was started without one, and the span of an attempt, so that
 * whoever takes an item over can point at the attempt before it, and a supervisor can end the span of a process that could not. The SDK draws ids while a
 * span is started, in the same tick; `spanIds` is its generator in Pawl's apps. With another generator ids are random: everything but these links works.
 */
import { createHash, randomBytes } from 'node:crypto'

interface Wanted {
  readonly traceId?: string | undefined
  readonly spanId?: string | undefined
}

let wanted: Wanted = {}

/** An OpenTelemetry `IdGenerator`. */
export const spanIds = {
  generateTraceId: (): string => wanted.traceId ?? randomBytes(16).toString('hex'),
  generateSpanId: (): string => wanted.spanId ?? randomBytes(8).toString('hex'),
}

/** `start` starts one span, at once. */
export function withIds<T>(ids: Wanted, start: () => T): T {
  wanted = ids
  try {
    return start()
  } finally {
    wanted = {}
  }
}

export const attemptSpanId = (runId: string, seq: number, epoch: number): string =>
  createHash('sha256').update(`${runId}:${seq}:${epoch}`).digest('hex').slice(0, 16)
