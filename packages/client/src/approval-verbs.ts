/** `approve`, `reject` and `decideApprovals`, the same on either side of HTTP: all are one decision about a list of calls. */
import { PawlError } from '@pawl/core'
import type { ApprovalDecisions, PawlClient, ShownCall } from './contract.ts'
import type { ApprovalDecision } from './wire.ts'

type Verb = PawlClient['approve']

export function approvalVerbs(decide: (runId: string, decisions: ApprovalDecisions) => Promise<readonly ApprovalDecision[]>): Pick<PawlClient, 'approve' | 'reject' | 'decideApprovals'> {
  const verb = (name: 'approve' | 'reject') => (async (runId: string, calls: ShownCall | readonly ShownCall[], options: { note?: string | undefined } = {}) => {
    const isOne = !Array.isArray(calls)
    const decisions = await decide(runId, { [name]: isOne ? [calls] : calls, note: options.note })
    return isOne ? mustHold(runId, decisions) : decisions
  }) as Verb
  return { approve: verb('approve'), reject: verb('reject'), decideApprovals: decide }
}

/** For a single call: what did not come about is thrown. */
export function mustHold(runId: string, decisions: readonly ApprovalDecision[]): ApprovalDecision {
  const [one] = decisions
  if (!one) throw new Error('a decision brought no answer')
  const name = `Action ${one.actionId} of run ${runId}`
  const details = { action: one.actionId, status: one.status, decidedBy: one.decidedBy, decidedAt: one.decidedAt?.toISOString() ?? null }
  const look = `"pawl inbox --run ${runId}" shows what waits now.`
  switch (one.outcome) {
    case 'approved': case 'rejected': return one
    case 'missing': throw new PawlError('NOT_FOUND', `${name} asks for no approval. ${look}`)
    case 'changed': throw new PawlError('APPROVAL_CHANGED', `${name} is another call now than the one that was shown. Look at it again: ${look}`, 'tell', details)
    case 'decided': throw new PawlError('APPROVAL_DECIDED', `${name} was ${one.status} by ${one.decidedBy} at ${one.decidedAt?.toISOString()}; that stands.`, 'tell', details)
    case 'expired': throw new PawlError('APPROVAL_EXPIRED', `The request for ${name} has run out; its item asks anew when it runs next. ${look}`, 'tell', details)
    case 'void': throw new PawlError('WRONG_STATE', `${name} is no longer to be made: its run was stopped, or the agent makes another call. ${look}`, 'tell', { ...details, state: one.status })
    case 'requester': throw new PawlError('APPROVER_IS_REQUESTER', `${name} belongs to a run you started, and its policy wants another person's yes. Ask somebody else, or reject it.`, 'tell', details)
  }
}
