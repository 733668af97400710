/** A person raises, or lowers, what a run's models may spend. Items that waited for it go on; what they have spent stays counted. */
import { PawlError } from '@pawl/core'
import { budgetLimits, setBudget as set, type BudgetLimits } from '@pawl/ledger'
import { z } from 'zod'
import { firstIssue } from './check-request.ts'
import { checkReason, requireRun, unknownRun, type Parts } from './parts.ts'
import type { VerbAnswer } from './wire.ts'

/** `run`: all items together. `item`: each. */
export interface BudgetRequest {
  readonly run?: BudgetLimits | undefined
  readonly item?: BudgetLimits | undefined
  readonly note?: string | undefined
}

const limitsOf = z.strictObject(budgetLimits.shape)
export const budgetFields = { run: limitsOf.optional(), item: limitsOf.optional() }
const requested = z.strictObject(budgetFields)

/** Throws `BAD_BUDGET`. */
export async function setBudget(parts: Parts, runId: string, { note, ...request }: BudgetRequest): Promise<VerbAnswer> {
  await requireRun(parts, runId)
  const parsed = requested.safeParse(request)
  const isEmpty = Object.keys({ ...request.run, ...request.item }).length === 0
  if (!parsed.success || isEmpty) {
    throw new PawlError('BAD_BUDGET', `${parsed.success ? 'A budget names at least one limit' : firstIssue('budget', parsed.error)}. Known, for the run and for each item: turns, tokens, cost, wallMs.`)
  }
  const { outcome, status } = await set(parts.ledger, runId, { budget: request.run ?? null, itemBudget: request.item ?? null }, { actor: parts.actor, note: checkReason(note, 'note') })
  if (outcome === 'missing' || status === null) throw unknownRun(runId)
  await parts.ring(runId)
  return { dryRun: false, runId, status: status as VerbAnswer['status'] }
}
