/**
 * What is told of one attempt while it runs: its span, one span for each call that is made (none for what the ledger has already), for each settling and
 * each turn. Names, ids, numbers and outcomes only, never arguments, results, keys of items or words of errors. Writes nothing, waits for nothing, and does
 * nothing at all where no SDK listens.
 */
import type { ActionRow, ItemRow, RunRow } from '@pawl/ledger'
import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Context, type Link, type Span } from '@opentelemetry/api'
import type { Call } from '../call.ts'
import { attemptSpanId } from './ids.ts'
import { startRunSpan, traceIdIn, tracer } from './run-span.ts'

interface CallSpan {
  readonly span: Span
  readonly context: Context
  /** What still has to become durable before it ends. */
  writes: number
  isReturned: boolean
}

/** An item's kind is what its attempts are called after. */
export const attemptSpanName = (kind: ItemRow['kind']): string => (kind === 'work' ? 'pawl.attempt' : kind === 'settle' ? 'pawl.settle_run' : `pawl.${kind}`)

export const attemptAttributes = (run: Pick<RunRow, 'id' | 'agent' | 'agent_version'>, item: Pick<ItemRow, 'seq' | 'kind' | 'epoch'>): Attributes => ({
  'pawl.run.id': run.id, 'pawl.agent': run.agent, 'pawl.agent.version': run.agent_version, 'pawl.item.seq': item.seq, 'pawl.item.kind': item.kind, 'pawl.epoch': item.epoch,
})

export class AttemptTrace {
  readonly #span: Span
  readonly #context: Context
  readonly #isOn: boolean
  readonly #calls = new Map<string, CallSpan>()
  readonly #open = new Set<Span>()
  /** Undefined: nobody traces. */
  readonly traceId: string | undefined

  constructor(run: RunRow, item: ItemRow) {
    const started = startRunSpan(run, attemptSpanName(item.kind), {
      kind: SpanKind.CONSUMER, attributes: { ...attemptAttributes(run, item), 'pawl.attempt': item.attempts },
    }, attemptSpanId(run.id, item.seq, item.epoch))
    this.#span = started.span
    this.#context = started.context
    this.#isOn = started.span.isRecording()
    this.traceId = traceIdIn(started.span)
    if (this.#isOn && item.epoch > 1) this.#span.addLink(this.#before(run, item))
  }

  /** The attempt before this one, however it ended. */
  #before(run: RunRow, item: ItemRow): Link {
    const own = this.#span.spanContext()
    return {
      context: { traceId: own.traceId, spanId: attemptSpanId(run.id, item.seq, item.epoch - 1), traceFlags: own.traceFlags, isRemote: true },
      attributes: { 'pawl.link': 'previous attempt', 'pawl.epoch': item.epoch - 1 },
    }
  }

  /** The agent's own spans, and those of what it calls, become children. */
  during<T>(work: () => T): T {
    return this.#isOn ? context.with(this.#context, work) : work()
  }

  end(verdict: string): void {
    if (!this.#isOn) return
    for (const span of this.#open) endOver(span)
    for (const [key, { span, isReturned, writes }] of this.#calls) {
      // The answer to its last write is on its way.
      if (isReturned && writes > 0) continue
      this.#calls.delete(key)
      endOver(span)
    }
    this.#open.clear()
    this.#span.setAttribute('pawl.verdict', verdict)
    if (verdict === 'failed' || verdict === 'lost') this.#span.setStatus({ code: SpanStatusCode.ERROR, message: verdict })
    this.#span.end()
  }

  /** A call is about to be written down, or sent again. Once per call. */
  begin(call: Call): void {
    if (!this.#isOn || this.#calls.has(call.key)) return
    const within = trace.getSpan(context.active()) === undefined ? this.#context : context.active()
    const span = tracer.startSpan(`pawl.action ${call.tool.name}`, {
      attributes: {
        'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': call.tool.name, 'pawl.tool.version': call.tool.version, 'pawl.effect': call.tool.effect,
        ...(call.turn === undefined ? {} : { 'pawl.turn': call.turn }), ...(call.undoes === null ? {} : { 'pawl.undoes': call.undoes }),
      },
    }, within)
    this.#calls.set(call.key, { span, context: trace.setSpan(within, span), writes: 0, isReturned: false })
  }

  /** Its row in the ledger is durable: a send may follow. */
  intended(key: string, action: Pick<ActionRow, 'id' | 'attempt'>): void {
    const made = this.#calls.get(key)
    made?.span.setAttribute('pawl.action.id', action.id)
    made?.span.addEvent('intent', { 'pawl.send': action.attempt })
  }

  mark(key: string, event: 'send' | 'returned' | 'refused' | 'unsent' | 'unknown' | 'approval asked' | 'staged' | 'completion'): void {
    const made = this.#calls.get(key)
    made?.span.addEvent(event)
    if (event === 'unknown') made?.span.setStatus({ code: SpanStatusCode.ERROR, message: 'unsettled' })
    if (event === 'completion') made?.span.setStatus({ code: SpanStatusCode.OK })
  }

  /** For the time of a send: what the tool does on the wire becomes a child. */
  sending<T>(key: string, send: () => T): T {
    const made = this.#calls.get(key)
    return made ? context.with(made.context, send) : send()
  }

  /** The call's span ends when its completion is durable, not when the agent goes on. */
  completing(key: string, written: Promise<{ readonly outcome: string }>): void {
    const made = this.#calls.get(key)
    if (!made) return
    made.writes++
    void written.then(({ outcome }) => { if (outcome === 'recorded') this.mark(key, 'completion') }, () => {}).finally(() => {
      made.writes--
      this.#endIfOver(key, made)
    })
  }

  /** The agent has its answer, or never will. */
  returned(key: string): void {
    const made = this.#calls.get(key)
    if (!made) return
    made.isReturned = true
    this.#endIfOver(key, made)
  }

  #endIfOver(key: string, made: CallSpan): void {
    if (!made.isReturned || made.writes > 0 || this.#calls.get(key) !== made) return
    this.#calls.delete(key)
    made.span.end()
  }

  /** Finding out about one unsettled action. */
  settling(action: Pick<ActionRow, 'id' | 'key' | 'tool' | 'effect'>): (outcome: string) => void {
    if (!this.#isOn) return () => {}
    const span = tracer.startSpan('pawl.settle', {
      attributes: { 'gen_ai.tool.name': action.tool, 'pawl.effect': action.effect, 'pawl.action.id': action.id },
    }, this.#calls.get(action.key)?.context ?? this.#context)
    return this.#ending(span, 'pawl.settled')
  }

  /** One decision asked of a model. Ends with the attempt where no answer comes. */
  turn(n: number, model: { readonly name: string; readonly provider: string }): (answer: { inputTokens: number; outputTokens: number; finishReason: string }) => void {
    if (!this.#isOn) return () => {}
    const span = tracer.startSpan(`chat ${model.name}`, {
      kind: SpanKind.CLIENT, attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model.name, 'gen_ai.provider.name': model.provider, 'pawl.turn': n },
    }, this.#context)
    const end = this.#ending(span, 'pawl.outcome')
    return ({ inputTokens, outputTokens, finishReason }) => {
      span.setAttributes({ 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens, 'gen_ai.response.finish_reasons': [finishReason] })
      end('decided')
    }
  }

  #ending(span: Span, attribute: string): (outcome: string) => void {
    this.#open.add(span)
    return (outcome) => {
      if (!this.#open.delete(span)) return
      span.setAttribute(attribute, outcome)
      span.end()
    }
  }
}

/** The attempt ended first. */
function endOver(span: Span): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'the attempt was over' })
  span.end()
}
