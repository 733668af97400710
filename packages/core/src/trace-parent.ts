/**
 * A W3C `traceparent` as text: how a trace travels in a header, and how it is kept with its run. Pure, so that rooms which do not trace can hand it on.
 */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Undefined for anything that is not one: what a caller sends wrong is no reason to refuse its run. */
export function readTraceParent(text: string | null | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = pattern.exec(text ?? '') ?? []
  return traceId === undefined || spanId === undefined || flags === undefined ? undefined : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}

/** Null where there is nothing to hand on: nobody traces. */
export function writeTraceParent({ traceId, spanId, traceFlags }: TraceParent): string | null {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  return pattern.test(text) ? text : null
}

/** The trace of a run that was started without one: every process that works on it comes to the same. */
export const traceIdOf = (runId: string): string => runId.replaceAll('-', '').toLowerCase()
