/** `approve`, `reject` and `decideApprovals`, the same on either side of HTTP: all are one decision about a list of calls. */
import { mustHold } from './approve.ts'
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
