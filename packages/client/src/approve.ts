/** A person's yes or no to calls exactly as they were shown. Nothing that was not shown is decided, and each call is decided once. */
import { PawlError } from '@pawl/core'
import { decideApprovals, wakeItems, type ApprovalDecided } from '@pawl/ledger'
import type { ApprovalDecisions } from './contract.ts'
import { checkReason, requireRun, type Parts } from './parts.ts'
import type { ApprovalDecision } from './wire.ts'

type Verdict = 'approved' | 'rejected'

export async function decide(parts: Parts, runId: string, given: ApprovalDecisions): Promise<readonly ApprovalDecision[]> {
  await requireRun(parts, runId)
  const note = checkReason(given.note, 'note')
  const decided = await decideApprovals(parts.ledger, runId, listOf(runId, given), { actor: parts.actor, note })
  if (decided.some((one) => one.outcome === 'approved' || one.outcome === 'rejected')) {
    await wakeItems(parts.ledger, runId)
    await parts.ring(runId)
  }
  return decided.map(decisionOf)
}

/** One call named twice is one decision; two decisions about one call are none. */
function listOf(runId: string, { approve = [], reject = [] }: ApprovalDecisions): { actionId: number; digest: string; verdict: Verdict }[] {
  const calls = new Map<number, { actionId: number; digest: string; verdict: Verdict }>()
  for (const [verdict, list] of [['approved', approve], ['rejected', reject]] as const) {
    for (const { actionId, digest } of list) {
      if (!Number.isSafeInteger(actionId) || typeof digest !== 'string' || digest === '') throw new PawlError('BAD_DECISION', 'Each call is named by its actionId and its digest, as the inbox shows them. Nothing was decided.')
      const before = calls.get(actionId)
      if (before && (before.verdict !== verdict || before.digest !== digest)) {
        throw new PawlError('BAD_DECISION', `Action ${actionId} of run ${runId} is decided in two ways by this request. Nothing was decided.`, 'tell', { action: actionId })
      }
      calls.set(actionId, { actionId, digest, verdict })
    }
  }
  if (calls.size === 0) throw new PawlError('BAD_DECISION', 'No call was named. Give the actionId and digest of each, as the inbox shows them.')
  return [...calls.values()]
}

const decisionOf = ({ action_id: actionId, outcome, approval }: ApprovalDecided): ApprovalDecision => ({
  actionId, outcome, tool: approval?.tool ?? null, digest: approval?.digest ?? null, status: approval?.status ?? null, decidedBy: approval?.decided_by ?? null,
  decidedAt: approval?.decided_at ? new Date(approval.decided_at) : null, note: approval?.note ?? null,
})
