/**
 * A process that was killed cannot end its spans, and what hangs on them would hang in the air. Whoever knows for certain that it is dead ends the spans of
 * its attempts for it: begun when the ledger says they were claimed, over now. Read before the leases are freed; never a reason not to free them.
 */
import { listHeldAttempts, type Ledger } from '@pawl/ledger'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { attemptAttributes, attemptSpanName } from './attempt-trace.ts'
import { attemptSpanId } from './ids.ts'
import { startRunSpan, tracer } from './run-span.ts'

/** Asks the ledger only where somebody listens. Never rejects. */
export async function endDeadAttempts(ledger: Ledger, workerId: string, onError: (error: unknown) => void): Promise<void> {
  const probe = tracer.startSpan('pawl.dead')
  if (!probe.isRecording()) return
  try {
    for (const { run, item, startedAt } of await listHeldAttempts(ledger, workerId)) {
      const { span } = startRunSpan(run, attemptSpanName(item.kind), {
        kind: SpanKind.CONSUMER, startTime: startedAt, attributes: { ...attemptAttributes(run, item), 'pawl.verdict': 'killed', 'pawl.worker.id': workerId },
      }, attemptSpanId(run.id, item.seq, item.epoch))
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'its worker process died' })
      span.end()
    }
  } catch (error) {
    onError(error)
  }
}
