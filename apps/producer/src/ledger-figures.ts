/**
 * What only the ledger knows, counted for scrapes and scalers. Kept for some seconds however many ask, asked for once at a time, and within a deadline: a
 * ledger that is slow or away must not hold a scrape up, nor scrapes a ledger. Then the last figures are left out rather than told as if they held.
 */
import { waitMs } from '@pawl/core'
import { countBacklog, countOpenActions, countRuns, type Backlog, type Ledger, type OpenActions } from '@pawl/ledger'

export interface LedgerFigures {
  readonly runs: readonly { readonly agent: string; readonly status: string; readonly runs: number }[]
  readonly backlog: readonly Backlog[]
  readonly actions: readonly OpenActions[]
}

export interface FigureOptions {
  readonly keptMs?: number
  readonly deadlineMs?: number
}

/** Undefined: the ledger did not answer in time. Never rejects. */
export function keepFigures(ledger: Ledger, { keptMs = 5_000, deadlineMs = 2_000 }: FigureOptions = {}): () => Promise<LedgerFigures | undefined> {
  let kept: { readonly at: number; readonly figures: LedgerFigures } | undefined
  let asking: Promise<LedgerFigures | undefined> | undefined
  return async () => {
    if (kept !== undefined && performance.now() - kept.at < keptMs) return kept.figures
    asking ??= count(ledger).then((figures) => {
      kept = { at: performance.now(), figures }
      return figures
    }, () => undefined).finally(() => { asking = undefined })
    const isOver = new AbortController()
    try {
      return await Promise.race([asking, waitMs(deadlineMs, isOver.signal).then(() => undefined)])
    } finally {
      isOver.abort()
    }
  }
}

/** One after the other: a scrape takes one of the ledger's connections, not three. */
async function count(ledger: Ledger): Promise<LedgerFigures> {
  return { runs: await countRuns(ledger), backlog: await countBacklog(ledger), actions: await countOpenActions(ledger) }
}

/** Agents come and go for years; a scrape tells of so many, and of the others together. */
const mostAgents = 100

/** Those with the most, under their name; whoever comes after as `other`. */
export function boundAgents<R extends { readonly agent: string }>(rows: readonly R[], sizeOf: (row: R) => number): (agent: string) => string {
  const sizes = new Map<string, number>()
  for (const row of rows) sizes.set(row.agent, (sizes.get(row.agent) ?? 0) + sizeOf(row))
  if (sizes.size <= mostAgents) return (agent) => agent
  const named = new Set([...sizes].toSorted((a, b) => b[1] - a[1]).slice(0, mostAgents).map(([agent]) => agent))
  return (agent) => (named.has(agent) ? agent : 'other')
}
