/** First sends of calls that were kept before they were sent, as the database saw them: approved ones, and those that were held back to the end of their run. Pure. */
import type { SeenRow } from './witness.ts'

export interface KeptSends {
  readonly staged: number
  /** Approved calls sent by an attempt whose predecessor was stopped: the yes outlived a process. */
  readonly approvedAfterTakeover: number
}

export function countKeptSends(rows: readonly SeenRow[], wasStopped: (place: { runId: string; seq: number; epoch: number }) => boolean): KeptSends {
  const seen = new Set<string>()
  const first = rows.filter((row) => {
    const place = `${row.run_id}:${row.key ?? ''}`
    if (row.status !== 'started' || seen.has(place)) return false
    seen.add(place)
    return true
  })
  return {
    staged: first.filter((row) => row.tool === 'staged').length,
    approvedAfterTakeover: first.filter((row) => row.tool === 'asked' && wasStopped({ runId: row.run_id, seq: row.seq, epoch: row.epoch - 1 })).length,
  }
}
