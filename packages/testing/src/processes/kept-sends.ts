/** First sends of calls that were kept before they were sent, as the database saw them: approved ones, and those that were held back to the end of their run. Pure. */
import { groupRows, type Killed } from './resume.ts'
import type { SeenRow } from './witness.ts'

export interface KeptSends {
  readonly staged: number
  /** Approved calls sent by an attempt whose predecessor was struck while it had the item: the yes outlived a process. */
  readonly approvedAfterTakeover: number
}

/** @param rows in the order of time. */
export function countKeptSends(rows: readonly SeenRow[], strikes: readonly Killed[]): KeptSends {
  const claims = groupRows(rows.filter((row) => row.tool === null), placeOf)
  const sent = new Set<string>()
  let staged = 0
  let approvedAfterTakeover = 0
  for (const row of rows) {
    const place = `${row.run_id}:${row.key ?? ''}`
    if (row.tool === null || row.status !== 'started' || sent.has(place)) continue
    sent.add(place)
    if (row.tool === 'staged') staged++
    if (row.tool === 'asked' && wasStruck(claims.get(placeOf(row)) ?? [], row.epoch - 1, strikes)) approvedAfterTakeover++
  }
  return { staged, approvedAfterTakeover }
}

const placeOf = ({ run_id: runId, seq }: SeenRow): string => `${runId}:${seq}`

/** While that attempt had the item. */
function wasStruck(ofItem: readonly SeenRow[], epoch: number, strikes: readonly Killed[]): boolean {
  const begun = ofItem.findIndex((row) => row.status === 'in_progress' && row.epoch === epoch)
  const [claim, end] = ofItem.slice(begun, begun + 2)
  return begun >= 0 && claim !== undefined && end !== undefined && strikes.some(({ workerId, at }) => workerId === claim.worker_id && at >= claim.at_ms && at <= end.at_ms)
}
