/** A person's word: about an action in doubt, or about a blocked item. */
import { decode, encode, limits, PawlError } from '@pawl/core'
import { answerDoubt, getAction, getItem, getRun, releaseItem as release, wakeItems, type ActionView, type ItemView, type ShownBlock } from '@pawl/ledger'
import type { AnyTool } from '@pawl/tools'
import type { DoubtSettlement, ReleaseOptions } from './contract.ts'
import { actionOf, itemOf } from './from-ledger.ts'
import { checkReason, requireRun, unknownItem, unknownRun, type Parts } from './parts.ts'
import { toolsOf } from './run-verbs.ts'
import type { Action, Item } from './wire.ts'

export async function settle(parts: Parts, runId: string, actionId: number, settlement: DoubtSettlement): Promise<Action> {
  const run = await getRun(parts.ledger, runId, parts.namespace)
  if (run === undefined) throw unknownRun(runId)
  const note = checkReason(settlement.note, 'note')
  const before = await getAction(parts.ledger, runId, actionId)
  if (before === undefined) throw unknownAction(runId, actionId)
  const tool = toolsOf(parts, run.agent, run.agentVersion).get(before.tool)
  const kept = settlement.answer === 'happened' ? keepAnswer(before, tool, settlement.result) : { result: null, undo: null }
  const answered = await answerDoubt(parts.ledger, runId, actionId, {
    attempt: settlement.attempt, evidence: settlement.evidence, answer: settlement.answer, ...kept, actor: parts.actor, note,
  })
  refuse(answered.outcome, before, settlement)
  await wakeItems(parts.ledger, runId)
  await parts.ring(runId)
  const after = await getAction(parts.ledger, runId, actionId)
  if (after === undefined) throw unknownAction(runId, actionId)
  return actionOf(after)
}

/** The result as the agent will get it, and the inverse that follows from it. A proof already in hand needs no word. */
function keepAnswer(action: ActionView, tool: AnyTool | undefined, result: unknown): { result: string | null; undo: string | null } {
  if (action.appliedEvidence !== null) return { result: null, undo: null }
  let value = result
  if (tool !== undefined && tool.version === action.toolVersion) {
    const parsed = tool.outputSchema.safeParse(result)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new PawlError('BAD_RESULT', `"It happened" needs what the call returned, since the agent goes on with it: ${['result', ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'does not fit'}.`, 'tell', { action: action.id, tool: action.tool })
    }
    value = parsed.data
  }
  return { result: value === undefined ? null : encode(value, { what: 'result', maxBytes: limits.resultBytes }), undo: tool === undefined ? null : undoOf(tool, decode(action.args), value) }
}

function undoOf(tool: AnyTool, input: unknown, result: unknown): string | null {
  if (!tool.undo) return null
  try {
    return encode({ tool: tool.undo.tool.name, version: tool.undo.tool.version, input: tool.undo.input({ input, result }) }, { what: 'undo', maxBytes: limits.argsBytes })
  } catch {
    return null
  }
}

function refuse(outcome: 'answered' | 'missing' | 'changed' | 'too_early' | 'evidence', before: ActionView, settlement: DoubtSettlement): void {
  const name = `Action ${before.id} of run ${before.runId}`
  switch (outcome) {
    case 'answered': return
    case 'missing': throw unknownAction(before.runId, before.id)
    case 'changed': throw new PawlError('DOUBT_CHANGED', `${name} is ${before.status}, attempt ${before.attempt} with ${before.evidence.length} entries of evidence; the answer was about attempt ${settlement.attempt} with ${settlement.evidence}, in doubt. Look at it again and answer what holds now.`, 'tell', { state: before.status, attempt: before.attempt, evidence: before.evidence.length })
    case 'too_early': throw new PawlError('TOO_EARLY', `${name} cannot be denied before ${before.answerableAt?.toISOString() ?? 'its wait is over'}: a late send could still follow. Answer then, or say that it happened.`, 'retry', { answerableAt: before.answerableAt?.toISOString() ?? null })
    case 'evidence': throw new PawlError('EVIDENCE_SAYS_APPLIED', `${name}: its result has arrived late and proves that it happened. Answer "happened".`, 'tell', { action: before.id })
  }
}

export const unknownAction = (runId: string, actionId: number): PawlError => new PawlError('NOT_FOUND', `Run ${runId} has no action ${actionId}.`, 'tell')

export async function releaseItem(parts: Parts, runId: string, seq: number, verb: 'resume' | 'fail', options: ReleaseOptions): Promise<Item> {
  await requireRun(parts, runId)
  const note = checkReason(options.note, 'note')
  if ((await getItem(parts.ledger, runId, seq)) === undefined) throw unknownItem(runId, seq)
  const { outcome, status, reason } = await release(parts.ledger, runId, seq, verb, { actor: parts.actor, note, newCalls: options.newCalls ?? false, shown: options.shown })
  if (outcome === 'missing') throw unknownItem(runId, seq)
  if (outcome === 'changed') throw blockChanged(runId, seq, options.shown, await getItem(parts.ledger, runId, seq))
  if (outcome === 'wrong_state') {
    const wayOut = reason === 'in_doubt' ? 'Settle its action in doubt first.' : status === 'blocked' ? `It cannot be answered with "${verb}" while it waits for ${reason} or has unsettled calls.` : 'Only a blocked item can be released; resume the run to send failed items round again.'
    throw new PawlError('WRONG_STATE', `Item ${seq} of run ${runId} is ${status}${reason === null ? '' : ` (${reason})`}. ${wayOut}`, 'tell', { runId, seq, state: status, reason })
  }
  await parts.ring(runId)
  const after = await getItem(parts.ledger, runId, seq)
  if (after === undefined) throw unknownItem(runId, seq)
  return itemOf(after)
}

function blockChanged(runId: string, seq: number, shown: ShownBlock | undefined, now: ItemView | undefined): PawlError {
  const is = now?.status === 'blocked' ? `blocked (${now.blockedReason ?? 'unknown'}) since attempt ${now.attempts}` : `${now?.status.replaceAll('_', ' ') ?? 'gone'}`
  return new PawlError('BLOCK_CHANGED', `Item ${seq} of run ${runId} is ${is}; the answer was about "${shown?.reason}" of attempt ${shown?.attempts}. Nothing was done. Look at it again and answer what holds now.`, 'tell',
    { runId, seq, state: now?.status ?? null, reason: now?.blockedReason ?? null, attempts: now?.attempts ?? null })
}
