/**
 * Rings for what is due. The ledger marks first, the queue is rung after: a crash between the two leaves an item that was marked and not rung,
 * which the sweep finds by asking for its job. A failed ring takes the marks back.
 */
import { advanceRun, forgetDispatch, takeDueItems, type DueItem, type Ledger } from '@pawl/ledger'
import type { Observe } from '@pawl/core'
import type { Channel, Queue, Ring } from '@pawl/queue'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { startRunSpan } from './telemetry/run-span.ts'

export interface DispatchParts {
  readonly ledger: Ledger
  readonly queue: Queue
  readonly ledgerId: string
  readonly observe?: Observe | undefined
}

export const channelOf = (item: { kind: string; agent: string; version: string }): Channel =>
  item.kind === 'split' ? { kind: 'split' } : { kind: 'agent', agent: item.agent, version: item.version }

/** Fills the run's window and makes its finalizer when nothing is live. Repeatable by anyone at any time. */
export async function dispatchRun(parts: DispatchParts, runId: string): Promise<void> {
  for (;;) {
    const { taken, live } = await takeDueItems(parts.ledger, runId)
    if (taken.length > 0) await ring(parts, runId, taken)
    if (live) return
    if (!(await advanceRun(parts.ledger, runId)).made) return
  }
}

async function ring({ ledger, queue, ledgerId, observe }: DispatchParts, runId: string, taken: readonly DueItem[]): Promise<void> {
  const rings: Ring[] = taken.map((item) => ({
    ledgerId, runId, seq: item.seq, generation: item.generation, channel: channelOf(item), first: item.again, title: `${item.kind === 'work' ? '' : `${item.kind} `}${item.key}`,
  }))
  const [first] = taken
  const { span } = startRunSpan({ id: runId, trace_parent: first?.trace ?? null }, 'pawl.dispatch', {
    kind: SpanKind.PRODUCER, attributes: { 'pawl.run.id': runId, 'pawl.agent': first?.agent ?? '', 'pawl.agent.version': first?.version ?? '', 'pawl.items': taken.length },
  })
  try {
    await queue.ring(rings)
    observe?.('pawl_dispatched_total', taken.length)
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: 'the queue did not take the ring' })
    await forgetDispatch(ledger, rings).catch(() => {})
    throw error
  } finally {
    span.end()
  }
}
