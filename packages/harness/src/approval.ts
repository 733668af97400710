/**
 * A call that needs a person's yes: asked for at once, used only in the statement that allows the send, and the worker given back meanwhile.
 * Once a row has asked, the row decides and not the tool's policy: another build, or another day, does not get past it.
 */
import { decode, digest, limits, recordError, Rejected, type ErrorRecord } from '@pawl/core'
import { discardActions, requestApproval, stageAction, type ActionRow, type ApprovalRequested, type KeptCall } from '@pawl/ledger'
import type { Attempt } from './attempt.ts'
import type { Call } from './call.ts'
import { undoOf } from './completion-of.ts'
import { Parked, parked } from './parked.ts'

/** Anything but a clear no asks: a policy that throws, or forgets to answer, sends nothing by itself. It gets a copy of the input. */
export function needsApproval(attempt: Attempt, call: Call): boolean {
  const { approval } = call.tool
  if (approval === undefined || approval === 'never') return false
  if (approval === 'always') return true
  const { run } = attempt
  try {
    return approval(decode(call.args), { id: run.id, agent: run.agent, version: run.agent_version, labels: run.labels, createdBy: run.created_by }) !== false
  } catch (error) {
    attempt.parts.log('warn', `the approval policy of ${call.tool.name} failed, so a person is asked: ${recordError(error).message}`, attempt.place)
    return true
  }
}

/** As it is written down before anything of it is sent. */
export const keptCall = (call: Call): KeptCall => ({
  key: call.key, tool: call.tool.name, toolVersion: call.tool.version, effect: call.tool.effect, args: call.args, argsDigest: call.argsDigest, undo: undoOf(call.tool, call.input, undefined),
  undoes: call.undoes, turn: call.turn ?? null, timeoutMs: call.tool.timeoutMs, settleMs: call.tool.settleWindowMs, keyWindowMs: call.tool.keyWindowMs ?? null,
})

/** Of calls that are asked for beside each other all are asked for, whichever was the first to park. */
export async function readyToKeep(attempt: Attempt, call: Call): Promise<void> {
  await attempt.parts.failpoint('before-request', { ...attempt.holder, tool: call.tool.name, key: call.key })
  await attempt.durable()
  if (attempt.ending && attempt.ending.kind !== 'blocked') throw new Parked()
  const superseded = attempt.journal.supersededBy(call.key)
  if (superseded.length > 0) await discard(attempt, superseded)
}

export async function request(attempt: Attempt, call: Call): Promise<ApprovalRequested> {
  const { run, agent, parts, holder } = attempt
  const answer = await requestApproval(parts.ledger, holder, keptCall(call), {
    digest: digest([call.tool.name, call.tool.version, call.argsDigest]), irreversible: call.tool.irreversible ?? false,
    expiresMs: run.policy.approval?.expiresMs ?? agent.policy?.approval?.expiresMs ?? limits.approvalExpiresMs,
  })
  if (answer.outcome === 'fenced') throw parked(attempt, { kind: 'lost' })
  if (answer.outcome !== 'exists' && answer.action) attempt.put(answer.action)
  await parts.failpoint('after-request', { ...holder, tool: call.tool.name, key: call.key })
  return answer
}

/** Until nothing else of the item is under way: siblings go on meanwhile, and bring what they have to ask. Then the item gives its worker back. */
export async function waitForYes(attempt: Attempt, approvalId: number): Promise<never> {
  attempt.approvals.add(approvalId)
  await attempt.whenIdle()
  throw parked(attempt, { kind: 'blocked', reason: 'approval', detail: { approvals: [...attempt.approvals] } })
}

/** Held back to the end of the run: kept, and nothing more. Returns the row where somebody else has the key. */
export async function stage(attempt: Attempt, call: Call): Promise<ActionRow | undefined> {
  attempt.trace.begin(call)
  await readyToKeep(attempt, call)
  const { outcome, action } = await stageAction(attempt.parts.ledger, attempt.holder, keptCall(call))
  if (outcome === 'fenced' || !action) throw parked(attempt, { kind: 'lost' })
  if (outcome === 'held') return undefined
  if (outcome === 'exists') return action
  attempt.put(action)
  attempt.trace.mark(call.key, 'staged')
  await attempt.parts.failpoint('after-request', { ...attempt.holder, tool: call.tool.name, key: call.key })
  return undefined
}

export function rejectedBefore(call: Call, action: ActionRow): Rejected {
  const error = action.error === null ? undefined : (JSON.parse(action.error) as Partial<ErrorRecord>)
  return new Rejected(call.tool.name, call.key, error?.message ?? 'a person said no')
}

/**
 * What earlier attempts kept and this one, at its end, has not asked for is no longer to be made; nor, where the item fails for good, what waits for a yes.
 * What a finalizer was to send for others is held back for the next one. False: the attempt is lost.
 */
export async function discardUnasked(attempt: Attempt, isFailing = false): Promise<boolean> {
  const left = isFailing ? attempt.journal.keptInVain() : attempt.journal.keptUnasked()
  return left.length === 0 || (await discard(attempt, left))
}

async function discard(attempt: Attempt, actions: readonly ActionRow[]): Promise<boolean> {
  if (!(await discardActions(attempt.parts.ledger, attempt.holder, actions.map((action) => action.key)))) {
    attempt.park({ kind: 'lost' })
    return false
  }
  for (const action of actions) attempt.put({ ...action, status: 'discarded' })
  attempt.parts.log('info', `${actions.length} kept calls are no longer made`, attempt.place)
  return true
}
