/** Calls that are kept before their first send: waiting for a person's yes, or held back to the end of their run. */
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import type { Intent } from '../flush.ts'
import { actionRow, approvalRow, type ActionRow } from '../rows.ts'
import { arrayOf, runVerb, runVerbOnce } from './run-verb.ts'
import type { Holder } from './settle.ts'

/** A call as it is written down before anything of it is sent: an intent without a send. */
export type KeptCall = Omit<Intent, 'token'>

const callOf = (call: KeptCall): string => JSON.stringify({
  key: call.key, tool: call.tool, tool_version: call.toolVersion, effect: call.effect, args: call.args, args_digest: call.argsDigest, undo: call.undo, undoes: call.undoes, turn: call.turn ?? null,
  timeout_ms: Math.ceil(call.timeoutMs), settle_ms: Math.ceil(call.settleMs), key_window_ms: call.keyWindowMs === null ? null : Math.floor(call.keyWindowMs),
})

const requested = z.object({ outcome: z.enum(['waiting', 'given', 'exists', 'fenced']), action: actionRow.nullable(), approval: approvalRow.nullable() })
export type ApprovalRequested = z.infer<typeof requested>

/** `request_approval`. `digest`: of tool, version and arguments, as people are shown it. */
export async function requestApproval(ledger: Ledger, by: Holder, call: KeptCall, ask: { digest: string; irreversible: boolean; expiresMs: number }): Promise<ApprovalRequested> {
  return await runVerbOnce(ledger, 'request_approval', [by.runId, by.seq, by.epoch, callOf(call), ask.digest, ask.irreversible, ask.expiresMs], requested, { retryForMs: 60_000 })
}

const staged = z.object({ outcome: z.enum(['staged', 'held', 'exists', 'fenced']), action: actionRow.nullable() })

/** `stage_action`: held back to the end of the run. */
export async function stageAction(ledger: Ledger, by: Holder, call: KeptCall): Promise<z.infer<typeof staged>> {
  return await runVerbOnce(ledger, 'stage_action', [by.runId, by.seq, by.epoch, callOf(call)], staged, { retryForMs: 60_000 })
}

/** `discard_actions`: kept calls that their item no longer makes. False: fenced. */
export async function discardActions(ledger: Ledger, by: Holder, keys: readonly string[]): Promise<boolean> {
  const row = await runVerbOnce(ledger, 'discard_actions', [by.runId, by.seq, by.epoch, arrayOf(keys)], z.object({ discard_actions: z.boolean() }), { retryForMs: 60_000 })
  return row.discard_actions
}

const decided = z.object({
  action_id: z.coerce.number(),
  outcome: z.enum(['approved', 'rejected', 'missing', 'changed', 'decided', 'expired', 'void', 'requester']),
  action: actionRow.nullable(), approval: approvalRow.nullable(),
})
export type ApprovalDecided = z.infer<typeof decided>

/** `decide_approvals`: each call exactly as it was shown, by action and digest. In the order of the actions. */
export async function decideApprovals(
  ledger: Ledger, runId: string, decisions: readonly { actionId: number; digest: string; verdict: 'approved' | 'rejected' }[], by: { actor: string; note?: string | null },
): Promise<ApprovalDecided[]> {
  return await runVerb(ledger, 'decide_approvals', [
    runId, arrayOf(decisions.map((d) => d.actionId)), arrayOf(decisions.map((d) => d.digest)), arrayOf(decisions.map((d) => d.verdict)), by.actor, by.note ?? null,
  ], decided)
}

/** `expire_approvals`. Returns how many ran out. */
export async function expireApprovals(ledger: Ledger): Promise<number> {
  return (await runVerbOnce(ledger, 'expire_approvals', [], z.object({ expire_approvals: z.number() }))).expire_approvals
}

/** Calls that the run's finalizer has still to send, in the order in which they were made: of items that are done. */
export async function listStaged(ledger: Ledger, runId: string): Promise<ActionRow[]> {
  const rows = await ledger.query(`select row_to_json(a.*) as action from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.staged_by and i.status = 'done'
    where a.run_id = $1 and a.status in ('staged', 'awaiting_approval', 'failed') order by a.id`, [runId], { retryForMs: 60_000 })
  return rows.map((row) => z.object({ action: actionRow }).parse(row).action)
}
