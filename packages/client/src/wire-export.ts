/** A run as lines of JSON, everything the ledger has of it: the run, its rows kind by kind, and a last line that counts them. Without that line an export is cut. */
import { z } from 'zod'
import { fromWire, toWire, actionSchema, actionToWire, approvalSchema, eventSchema, itemSchema, itemToWire, questionSchema, questionToWire, runSchema, runToWire } from './wire.ts'

const at = z.iso.datetime().transform((text) => new Date(text))
const count = z.number().int()
const value = z.unknown().transform(fromWire)

const exportedTurn = z.object({
  runId: z.string(), itemSeq: count, n: count, epoch: count, modelVersion: z.string(), promptVersion: z.string(), decision: value, inputTokens: count, outputTokens: count, costMicros: count, at,
})
const exportedRecord = z.object({ runId: z.string(), itemSeq: count, name: z.string(), orderNo: count, value, at })

export const exportLineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('run'), run: runSchema }),
  z.object({ kind: z.literal('item'), item: itemSchema }),
  z.object({ kind: z.literal('action'), action: actionSchema }),
  z.object({ kind: z.literal('turn'), turn: exportedTurn }),
  z.object({ kind: z.literal('record'), record: exportedRecord }),
  z.object({ kind: z.literal('question'), question: questionSchema }),
  z.object({ kind: z.literal('approval'), approval: approvalSchema }),
  z.object({ kind: z.literal('event'), event: eventSchema }),
  z.object({ kind: z.literal('end'), counts: z.record(z.string(), count) }),
])
export type ExportLine = z.infer<typeof exportLineSchema>

export function exportLineToWire(line: ExportLine): unknown {
  switch (line.kind) {
    case 'run': return { ...line, run: runToWire(line.run) }
    case 'item': return { ...line, item: itemToWire(line.item) }
    case 'action': return { ...line, action: actionToWire(line.action) }
    case 'turn': return { ...line, turn: { ...line.turn, decision: toWire(line.turn.decision) } }
    case 'record': return { ...line, record: { ...line.record, value: toWire(line.record.value) } }
    case 'question': return { ...line, question: questionToWire(line.question) }
    case 'approval': return { ...line, approval: { ...line.approval, args: toWire(line.approval.args) } }
    case 'event': case 'end': return line
  }
}
