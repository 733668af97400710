/** Budgets of an item and of its run: asked before each turn, never in the middle of one. Pure. */
import type { BudgetLimits } from '@pawl/ledger'

/** Per million tokens. */
export interface Prices {
  readonly input: number
  readonly output: number
  /** Of input tokens the provider had in its cache. Default: `input`. */
  readonly cachedInput?: number
}

export interface Spent {
  readonly turns: number
  readonly tokens: number
  readonly costMicros: number
  readonly wallMs: number
}

export interface Exceeded {
  readonly what: keyof BudgetLimits
  readonly limit: number
  readonly used: number
}

/** The first limit that leaves no room for another turn. */
export function findExceeded(limits: BudgetLimits, spent: Spent): Exceeded | undefined {
  const used: Record<Exceeded['what'], number> = { turns: spent.turns, tokens: spent.tokens, cost: spent.costMicros / 1_000_000, wallMs: spent.wallMs }
  for (const what of ['turns', 'tokens', 'cost', 'wallMs'] as const) {
    const limit = limits[what]
    if (limit !== undefined && used[what] >= limit) return { what, limit, used: used[what] }
  }
  return undefined
}

/** Price per million tokens is micros per token. Rounded up: a budget errs to the safe side. */
export function costMicrosOf(prices: Prices | undefined, usage: { input: number; cachedInput: number; output: number }): number {
  if (!prices) return 0
  const cached = Math.min(usage.cachedInput, usage.input)
  return Math.ceil((usage.input - cached) * prices.input + cached * (prices.cachedInput ?? prices.input) + usage.output * prices.output)
}
