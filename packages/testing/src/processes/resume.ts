/**
 * How long an item waits for its worker's death: from the SIGKILL to the first new intent of an item the dead worker held. Pure, over what the witness saw.
 * An item with a call in flight that has to be verified, asked about or waited for is apart: it waits by design; so does what compensates or settles a run with
 * such a call in any of its items. One that was struck again before it went on says nothing, and neither does one of a run that was stopped from outside.
 */
import type { SeenRow } from './witness.ts'

export interface Killed {
  readonly workerId: string
  /** Milliseconds since the epoch, taken before the signal. */
  readonly at: number
}

export interface Spread {
  readonly p50: number | null
  readonly p95: number | null
  readonly max: number | null
  readonly n: number
}

export interface ResumeTimes {
  /** Milliseconds. */
  readonly sameHost: Spread
  readonly waitingByDesign: Spread
  /** Struck again before they went on. */
  readonly struckAgain: number
}

/** Whose calls in flight may be repeated at once. */
const quickTools: readonly string[] = ['read', 'keyed', 'shared', 'tx', 'keyed.undo', 'tx.undo']
/** Items that first find out what became of the whole run's calls. */
const ofTheRun: readonly (string | null)[] = ['compensate', 'settle']

export function measureResume(rows: readonly SeenRow[], kills: readonly Killed[], strikes: readonly Killed[], isLeftAlone: (runId: string) => boolean): ResumeTimes {
  const byItem = groupRows(rows, ({ run_id: runId, seq }) => `${runId}:${seq}`)
  const byRun = groupRows(rows, ({ run_id: runId }) => runId)
  const fast: number[] = []
  const slow: number[] = []
  let struckAgain = 0
  for (const kill of kills) {
    for (const seen of byItem.values()) {
      const held = heldAt(seen, kill)
      if (!held || !isLeftAlone(held.run_id)) continue
      const next = seen.find((row) => row.tool !== null && row.status === 'started' && row.at_ms > kill.at && row.epoch > held.epoch)
      if (!next) continue
      const holder = seen.findLast((row) => row.tool === null && row.status === 'in_progress' && row.epoch > held.epoch && row.at_ms <= next.at_ms)
      const first = seen.find((row) => row.tool === null && row.status === 'in_progress' && row.epoch > held.epoch)
      if (holder === undefined || first === undefined) continue
      if (first.epoch !== holder.epoch || strikes.some((one) => one.workerId === first.worker_id && one.at > kill.at && one.at < next.at_ms)) struckAgain++
      else (waitsByDesign(ofTheRun.includes(held.kind) ? (byRun.get(held.run_id) ?? []) : seen, first.at_ms) ? slow : fast).push(next.at_ms - kill.at)
    }
  }
  return { sameHost: spread(fast), waitingByDesign: spread(slow), struckAgain }
}

export function groupRows(rows: readonly SeenRow[], placeOf: (row: SeenRow) => string): Map<string, SeenRow[]> {
  const groups = new Map<string, SeenRow[]>()
  for (const row of rows) {
    const known = groups.get(placeOf(row))
    if (known) known.push(row)
    else groups.set(placeOf(row), [row])
  }
  return groups
}

function heldAt(seen: readonly SeenRow[], { workerId, at }: Killed): SeenRow | undefined {
  const last = seen.findLast((row) => row.tool === null && row.at_ms <= at)
  return last?.status === 'in_progress' && last.worker_id === workerId ? last : undefined
}

/** @param at when the next holder claimed it: what the dead process had on its way to the database is there by then. */
function waitsByDesign(seen: readonly SeenRow[], at: number): boolean {
  const latest = new Map<string, SeenRow>()
  for (const row of seen) if (row.tool !== null && row.at_ms <= at) latest.set(row.key ?? '', row)
  return [...latest.values()].some((row) => row.status === 'in_doubt' || (row.status === 'started' && !quickTools.includes(row.tool ?? '')))
}

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number | null => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
    return value === undefined ? null : Math.round(value)
  }
  return { p50: at(0.5), p95: at(0.95), max: at(1), n: sorted.length }
}
