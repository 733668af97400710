/** What people and services may do to a run that is there. Each refusal names the state and the way out. */
import { PawlError, type RunStatus } from '@pawl/core'
import { cancelRun, getRun, pauseRun, readPreview, resumeRun, startCompensation } from '@pawl/ledger'
import type { AnyTool } from '@pawl/tools'
import type { VerbOptions } from './contract.ts'
import { checkReason, requireRun, unknownRun, type Parts } from './parts.ts'
import { previewVerb, type PreviewVerb } from './preview.ts'
import type { Preview, VerbAnswer } from './wire.ts'

export const waysOut: Readonly<Record<'pause' | PreviewVerb, string>> = {
  pause: 'Only a run that is under way can be paused.',
  resume: 'Only a run that is under way, failed, cancelled or completed with failures can be resumed; start a new run instead.',
  cancel: 'Only a run that has not ended can be cancelled; compensate takes back what it did.',
  compensate: 'Only a run whose items are known and that is not compensated already can be compensated; cancel stops one that is still splitting.',
}

export async function pause(parts: Parts, runId: string, options: Pick<VerbOptions, 'reason'>): Promise<VerbAnswer> {
  await requireRun(parts, runId)
  return { dryRun: false, runId, status: told('pause', runId, await pauseRun(parts.ledger, runId, parts.actor, checkReason(options.reason, 'reason'))) }
}

export async function resume(parts: Parts, runId: string, options: VerbOptions): Promise<VerbAnswer | Preview> {
  await requireRun(parts, runId)
  const reason = checkReason(options.reason, 'reason')
  if (options.dryRun) return await preview(parts, 'resume', runId)
  const answer = await resumeRun(parts.ledger, runId, parts.actor, reason)
  const status = told('resume', runId, answer)
  await parts.ring(runId)
  return { dryRun: false, runId, status, reopened: answer.reopened }
}

export async function cancel(parts: Parts, runId: string, options: VerbOptions): Promise<VerbAnswer | Preview> {
  await requireRun(parts, runId)
  const reason = checkReason(options.reason, 'reason')
  if (options.dryRun) return await preview(parts, 'cancel', runId)
  const answer = await cancelRun(parts.ledger, runId, parts.actor, reason)
  const status = told('cancel', runId, answer)
  await parts.ring(runId)
  return { dryRun: false, runId, status, unsettled: answer.unsettled ?? 0 }
}

export async function compensate(parts: Parts, runId: string, options: VerbOptions): Promise<VerbAnswer | Preview> {
  await requireRun(parts, runId)
  const reason = checkReason(options.reason, 'reason')
  if (options.dryRun) return await preview(parts, 'compensate', runId)
  const status = told('compensate', runId, await startCompensation(parts.ledger, runId, parts.actor, reason))
  await parts.ring(runId)
  return { dryRun: false, runId, status }
}

function told(verb: keyof typeof waysOut, runId: string, answer: { outcome: string; status: string | null }): RunStatus {
  if (answer.outcome === 'missing') throw unknownRun(runId)
  if (answer.outcome === 'wrong_state') {
    throw new PawlError('WRONG_STATE', `Run ${runId} is ${answer.status}. ${waysOut[verb]}`, 'tell', { runId, state: answer.status })
  }
  return answer.status as RunStatus
}

async function preview(parts: Parts, verb: PreviewVerb, runId: string): Promise<Preview> {
  const [run, facts] = await Promise.all([getRun(parts.ledger, runId, parts.namespace), readPreview(parts.ledger, runId)])
  if (run === undefined) throw unknownRun(runId)
  return previewVerb(verb, run, facts, toolsOf(parts, run.agent, run.agentVersion))
}

/** By tool name, of the agent version that serves the run, undo tools included. */
export function toolsOf(parts: Pick<Parts, 'agents'>, agent: string, version: string): ReadonlyMap<string, AnyTool> {
  const contract = parts.agents?.find((each) => each.name === agent && each.version === version) ?? parts.agents?.find((each) => each.name === agent)
  const tools = new Map<string, AnyTool>()
  for (const tool of Object.values(contract?.tools ?? {})) {
    for (let each: AnyTool | undefined = tool; each !== undefined && !tools.has(each.name); each = each.undo?.tool) tools.set(each.name, each)
  }
  return tools
}
