import { limits } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import type { History } from '../history.ts'
import { actionRow, itemRow, questionRow, recordRow, runRow, turnRow } from '../rows.ts'
import { arrayOf, runVerb } from './run-verb.ts'

export interface ClaimRequest {
  readonly runId: string
  readonly seq: number
  /** The doorbell's; null claims whatever generation there is. */
  readonly generation: number | null
}

const verdicts = ['claimed', 'missing', 'stale', 'ahead', 'untrusted', 'closed', 'leased', 'early', 'paused', 'suspect', 'blocked', 'unserved'] as const
const claimAnswer = z.object({
  run_id: z.string(), seq: z.number(), verdict: z.enum(verdicts), item: itemRow.nullable(), run: runRow.nullable(),
  journal: z.array(actionRow).nullable(), records: z.array(recordRow).nullable(), turns: z.array(turnRow).nullable(), questions: z.array(questionRow).nullable(), timeline: z.string().nullable(),
})
export type ClaimAnswer = Omit<z.infer<typeof claimAnswer>, 'timeline'> & { readonly history: History | null }

/** `claim_items` in `sql/`. `builds`: JSON by `agent@version`, what this process's code has; without it the item's queue is taken at its word. The nonce makes a claim whose answer was lost the same claim when asked again. */
export async function claimItems(
  ledger: Ledger,
  wanted: readonly ClaimRequest[],
  by: { workerId: string; nonce: string; leaseMs: number; alone: boolean; retryForMs?: number; builds?: string },
): Promise<ClaimAnswer[]> {
  const seen = ledger.gauge.begin()
  const rows = await runVerb(ledger, 'claim_items', [
    arrayOf(wanted.map((w) => w.runId)), arrayOf(wanted.map((w) => w.seq)), arrayOf(wanted.map((w) => w.generation)),
    by.workerId, by.nonce, by.leaseMs, limits.crashBudget, limits.suspectAfter, by.alone, by.builds ?? null,
  ], claimAnswer, { retryForMs: by.retryForMs ?? 5_000 })
  return rows.map(({ timeline, ...row }) => ({ ...row, history: timeline === null ? null : seen(timeline) }))
}
