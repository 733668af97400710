/** Spans that hang on a run: its trace context is in the ledger, because jobs carry ids only and the queue may lose them. */
import { readTraceParent, traceIdOf } from '@pawl/core'
import { isSpanContextValid, ROOT_CONTEXT, trace, type Context, type Span, type SpanOptions } from '@opentelemetry/api'
import { withIds } from './ids.ts'

export const tracer = trace.getTracer('pawl')

/** As the ledger keeps it. */
export interface TracedRun {
  readonly id: string
  readonly trace_parent: string | null
}

/** A child of the call that started the run. A run nobody traced gets a trace of its own, the same in every process. */
export function startRunSpan(run: TracedRun, name: string, options: SpanOptions, spanId?: string): { readonly span: Span; readonly context: Context } {
  const parent = readTraceParent(run.trace_parent)
  const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
  const span = withIds({ traceId: traceIdOf(run.id), spanId }, () => tracer.startSpan(name, options, within))
  return { span, context: trace.setSpan(within, span) }
}

/** For log lines: undefined where nobody traces. */
export function traceIdIn(span: Span): string | undefined {
  const context = span.spanContext()
  return isSpanContextValid(context) ? context.traceId : undefined
}
