import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import type { ActionRow } from '../rows.ts'
import { runVerb } from './run-verb.ts'

/** A call whose intent this process was told to be durable. */
export interface RememberedCall {
  readonly action: ActionRow
  /** Milliseconds since its intent. */
  readonly agoMs: number
  /** What is left of the receiver's memory of the key; null where it has no end. */
  readonly keyLeftMs: number | null
}

const answer = z.object({ run_id: z.string(), key: z.string(), outcome: z.enum(['kept', 'restored', 'ended', 'missing', 'twice']) })
export type BroughtBack = z.infer<typeof answer>

/** `bring_back_actions`: oldest first, since undo goes by the order in which they come. Safe to repeat. */
export async function bringBackActions(ledger: Ledger, calls: readonly RememberedCall[]): Promise<BroughtBack[]> {
  const rows = calls.map(({ action, agoMs, keyLeftMs }) => ({
    run_id: action.run_id, item_seq: action.item_seq, key: action.key, tool: action.tool, tool_version: action.tool_version, effect: action.effect, status: action.status,
    attempt: action.attempt, epoch: action.epoch, token: action.token, sends: action.sends, refused: action.refused, args: action.args, args_digest: action.args_digest,
    result: action.status === 'started' ? null : action.result, undo: action.undo, undoes: action.undoes, timeout_ms: action.timeout_ms, settle_ms: action.settle_ms, key_left_ms: keyLeftMs, ago_ms: agoMs, staged_by: action.staged_by, order_no: action.order_no,
  }))
  return await runVerb(ledger, 'bring_back_actions', [JSON.stringify(rows)], answer, { retryForMs: 10_000 })
}
