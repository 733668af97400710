/**
 * What may be done about an unsettled action. Pure. The order of proof: evidence an earlier holder brought, then what the tool can tell,
 * then a person. Nothing is ever concluded from time or from an error's kind.
 */
import type { ActionRow } from '@pawl/ledger'
import type { AnyTool } from '@pawl/tools'

export type SettlePlan =
  /** May run again, or its row tells that it did not happen. */
  | { readonly kind: 'drop' }
  | { readonly kind: 'evidence' }
  /** Call again under the same key with the recorded args. */
  | { readonly kind: 'recall'; readonly waits: boolean }
  | { readonly kind: 'verify' }
  | { readonly kind: 'ask'; readonly why: string }

export interface SettleRules {
  /** False while a run is cancelled or compensated: no forward effect may be sent; an undo is no forward effect. */
  readonly isForwardAllowed: boolean
  readonly isKeyExpired: boolean
  /** Calls again or verifications that brought nothing. */
  readonly isExhausted: boolean
}

export function planSettle(action: ActionRow, tool: AnyTool | undefined, rules: SettleRules): SettlePlan {
  if (action.applied_evidence !== null) return { kind: 'evidence' }
  if (action.effect === 'read' || action.effect === 'transactional') return { kind: 'drop' }
  if (!tool) return { kind: 'ask', why: `tool "${action.tool}" is not registered in this build` }
  if (tool.version !== action.tool_version || tool.effect !== action.effect) {
    return { kind: 'ask', why: `it was sent by version ${action.tool_version} of the tool; this build has ${tool.version}` }
  }
  if (rules.isExhausted) return { kind: 'ask', why: 'every try to find out brought nothing' }
  const mayRecall = action.effect === 'idempotent' && !rules.isKeyExpired
  if (rules.isForwardAllowed || action.undoes !== null) {
    if (mayRecall) return { kind: 'recall', waits: !(tool.concurrent || tool.precondition) }
    if (tool.verify) return { kind: 'verify' }
  } else {
    if (tool.verify) return { kind: 'verify' }
    if (mayRecall && tool.undo) return { kind: 'recall', waits: !(tool.concurrent || tool.precondition) }
  }
  return { kind: 'ask', why: action.effect === 'idempotent' ? 'the receiver may have forgotten the key, or the yes to this call has run out' : 'the tool cannot tell whether it happened' }
}
