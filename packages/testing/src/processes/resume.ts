/**
 * How long an item waits for its worker's death: from the SIGKILL to the first new intent of an item the dead worker held. Pure, over what the witness saw.
 * An item with a call in flight that has to be verified, asked about or waited for is apart: it waits by design. One that was struck again before it
 * went on says nothing, and neither does one of a run that was stopped from outside.
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

/** Effects of calls that nobody may repeat at once. */
const slowTools: readonly string[] = ['keyed-slow', 'lookup', 'opaque', 'lookup.undo']

export function measureResume(rows: readonly SeenRow[], kills: readonly Killed[], strikes: readonly Killed[], isLeftAlone: (runId: string) => boolean): ResumeTimes {
  const byItem = groupRows(rows)
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
      else (waitsByDesign(seen, kill) ? slow : fast).push(next.at_ms - kill.at)
    }
  }
  return { sameHost: spread(fast), waitingByDesign: spread(slow), struckAgain }
}

function groupRows(rows: readonly SeenRow[]): Map<string, SeenRow[]> {
  const byItem = new Map<string, SeenRow[]>()
  for (const row of rows) {
    const place = `${row.run_id}:${row.seq}`
    const known = byItem.get(place)
    if (known) known.push(row)
    else byItem.set(place, [row])
  }
  return byItem
}

function heldAt(seen: readonly SeenRow[], { workerId, at }: Killed): SeenRow | undefined {
  const last = seen.findLast((row) => row.tool === null && row.at_ms <= at)
  return last?.status === 'in_progress' && last.worker_id === workerId ? last : undefined
}

function waitsByDesign(seen: readonly SeenRow[], { at }: Killed): boolean {
  const latest = new Map<string, SeenRow>()
  for (const row of seen) if (row.tool !== null && row.at_ms <= at) latest.set(row.key ?? '', row)
  return [...latest.values()].some((row) => row.status === 'in_doubt' || (row.status === 'started' && slowTools.includes(row.tool ?? '')))
}

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number | null => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
    return value === undefined ? null : Math.round(value)
  }
  return { p50: at(0.5), p95: at(0.95), max: at(1), n: sorted.length }
}
