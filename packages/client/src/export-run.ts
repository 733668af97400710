/** A run from the ledger, row by row. The consumer sets the pace; no more than a page is held. */
import { decode } from '@pawl/core'
import { scanRun, type ScannedRow } from '@pawl/ledger'
import { actionOf, approvalOf, itemOf, questionOf } from './from-ledger.ts'
import type { Parts } from './parts.ts'
import type { Run } from './wire.ts'
import type { ExportLine } from './wire-export.ts'

export async function* exportRun(parts: Pick<Parts, 'ledger'>, readRun: () => Promise<Run>): AsyncGenerator<ExportLine, void, undefined> {
  const run = await readRun()
  const counts: Record<string, number> = { run: 1 }
  yield { kind: 'run', run }
  for await (const row of scanRun(parts.ledger, run.id)) {
    counts[row.kind] = (counts[row.kind] ?? 0) + 1
    yield lineOf(row)
  }
  yield { kind: 'end', counts }
}

function lineOf(scanned: ScannedRow): ExportLine {
  switch (scanned.kind) {
    case 'item': return { kind: 'item', item: itemOf(scanned.row) }
    case 'action': return { kind: 'action', action: actionOf(scanned.row) }
    case 'turn': {
      const { runId, itemSeq, n, epoch, modelVersion, promptVersion, decision, inputTokens, outputTokens, costMicros, at } = scanned.row
      return { kind: 'turn', turn: { runId, itemSeq, n, epoch, modelVersion, promptVersion, decision: decode(decision), inputTokens, outputTokens, costMicros, at } }
    }
    case 'record': return { kind: 'record', record: { ...scanned.row, value: decode(scanned.row.value) } }
    case 'question': return { kind: 'question', question: questionOf(scanned.row) }
    case 'approval': return { kind: 'approval', approval: approvalOf(scanned.row) }
    case 'event': return { kind: 'event', event: scanned.row }
  }
}
