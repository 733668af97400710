/** The span of a started run. What it hands on is kept with the run, and every process that works on the run goes on from there. */
import { PawlError, readTraceParent, writeTraceParent } from '@pawl/core'
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { StartedRun } from './wire.ts'

/** Told of each new run, with the traceparent that is kept with it. */
export type OnStarted = (started: StartedRun, traceParent: string | null) => void

const tracer = trace.getTracer('pawl')

/** `start` gets the traceparent to keep or to send; null where nobody traces. */
export async function traceStart(
  about: { readonly agent: string; readonly kind: 'here' | 'over HTTP'; readonly traceParent?: string | undefined; readonly onStarted?: OnStarted | undefined },
  start: (traceParent: string | null) => Promise<StartedRun>,
): Promise<StartedRun> {
  const parent = readTraceParent(about.traceParent)
  const within = parent === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
  const span = tracer.startSpan('pawl.startRun', { kind: about.kind === 'here' ? SpanKind.INTERNAL : SpanKind.CLIENT, attributes: { 'pawl.agent': about.agent } }, within)
  try {
    const kept = writeTraceParent(span.spanContext())
    const started = await start(kept)
    if (started.isNew) about.onStarted?.(started, kept)
    span.setAttributes({ 'pawl.run.id': started.id, 'pawl.run.is_new': started.isNew })
    return started
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof PawlError ? error.code : 'failed' })
    throw error
  } finally {
    span.end()
  }
}
