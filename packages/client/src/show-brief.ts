/** What a model is shown next: the ledger's facts, with the instructions and the budget of the agent's loop where this client was given the agent. */
import { buildBrief, PawlError, type BriefSource } from '@pawl/core'
import { readBriefFacts } from '@pawl/ledger'
import type { BriefRequest } from './contract.ts'
import { requireRun, unknownItem, type Parts } from './parts.ts'
import type { BriefView } from './wire.ts'

const defaultTokens = 30_000
const leastTokens = 100
const mostTokens = 10_000_000

/** Throws `NOT_FOUND`, `BAD_TOKENS`, `BRIEF_TOO_LARGE`. */
export async function showBrief(parts: Parts, runId: string, seq: number, { tokens }: BriefRequest): Promise<BriefView> {
  if (tokens !== undefined && !(Number.isInteger(tokens) && tokens >= leastTokens && tokens <= mostTokens)) {
    throw new PawlError('BAD_TOKENS', `tokens must be a whole number from ${leastTokens} to ${mostTokens}.`, 'tell')
  }
  await requireRun(parts, runId)
  const facts = await readBriefFacts(parts.ledger, runId, seq, parts.namespace)
  if (facts === undefined) throw unknownItem(runId, seq)
  const source = sourceOf(parts.agents?.find((agent) => agent.name === facts.run.agent && agent.version === facts.run.agentVersion)?.run)
  const budget = tokens ?? source?.contextTokens ?? defaultTokens
  const brief = buildBrief({ ...facts, system: source?.system ?? null }, { tokens: budget })
  return { ...brief, hasInstructions: source !== undefined, budget }
}

function sourceOf(run: unknown): BriefSource | undefined {
  return typeof run === 'function' && 'brief' in run ? (run.brief as BriefSource) : undefined
}
