/** How the run stands, for the prompts of its items. Counting a run of a million items takes a while, and no prompt needs the last second of it: one count serves a process for some. */
import type { BriefTally } from '@pawl/core'
import { readBriefTally, type Ledger } from '@pawl/ledger'

const goodForMs = 5_000
const mostRuns = 1_000
const kept = new WeakMap<Ledger, Map<string, { readonly at: number; readonly tally: Promise<BriefTally | null> }>>()

/** Null where the ledger does not answer: no turn waits for a count. */
export function tallyOf(ledger: Ledger, runId: string): Promise<BriefTally | null> {
  const runs = kept.get(ledger) ?? new Map<string, { at: number; tally: Promise<BriefTally | null> }>()
  kept.set(ledger, runs)
  const known = runs.get(runId)
  const now = performance.now()
  if (known && now - known.at < goodForMs) return known.tally
  if (runs.size >= mostRuns) runs.clear()
  const tally = readBriefTally(ledger, runId).catch(() => null)
  runs.set(runId, { at: now, tally })
  return tally
}
