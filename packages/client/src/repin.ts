/**
 * Moves a run to another agent version on purpose. What it is moved to is known from a live worker's build, else from an agent of this client's; a
 * version nobody knows is refused unless the caller insists. The dry run says what the new version would not recognise.
 */
import { PawlError } from '@pawl/core'
import { readRepin, repinRun, type NewPins, type RepinFacts } from '@pawl/ledger'
import { allTools, pinsOf, type ToolPin } from '@pawl/tools'
import type { AnyAgentContract } from './agents.ts'
import type { RepinOptions } from './contract.ts'
import { checkReason, requireRun, unknownRun, type Parts } from './parts.ts'
import type { RepinAnswer, RepinPreview } from './wire.ts'

const versionPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$/

interface Target {
  readonly pins: NewPins
  /** By `name@version`: what its code has. Undefined: not known here. */
  readonly has: ReadonlySet<string> | undefined
  readonly workers: number
  readonly isConfigured: boolean
}

export async function repin(parts: Parts, runId: string, options: RepinOptions): Promise<RepinAnswer | RepinPreview> {
  const { to, dryRun = false, force = false } = options
  if (!versionPattern.test(to)) throw new PawlError('BAD_VERSION', `The version ${JSON.stringify(to.slice(0, 50))} must be 1-40 characters of letters, digits, ".", "-", "_".`)
  const reason = checkReason(options.reason, 'reason')
  const status = await requireRun(parts, runId)
  const facts = await readRepin(parts.ledger, runId, to)
  if (facts === undefined) throw unknownRun(runId)
  const target = findTarget(facts, parts.agents, to)
  const isKnown = target.workers > 0 || target.isConfigured
  const from = { version: facts.version, model: facts.model, prompt: facts.prompt }
  const toPins = { version: to, model: target.pins.modelVersion, prompt: target.pins.promptVersion }
  if (dryRun) {
    return {
      dryRun: true, runId, status, from, to: toPins, isAllowed: status !== 'compensated' && (isKnown || force), workers: target.workers, isConfigured: target.isConfigured,
      live: facts.live, inProgress: facts.inProgress, unserved: unservedCalls(facts, target), changedTools: changedTools(facts.tools, target.pins.tools),
    }
  }
  if (!isKnown && !force) {
    throw new PawlError('UNKNOWN_VERSION', `No live worker and no agent known here is "${facts.agent}" version ${to}, so run ${runId} would only wait. Start such workers first, or insist with force.`, 'tell', { agent: facts.agent, version: to })
  }
  const answer = await repinRun(parts.ledger, runId, facts.version, target.pins, { actor: parts.actor, reason })
  if (answer.outcome === 'missing') throw unknownRun(runId)
  if (answer.outcome === 'changed') throw new PawlError('PINS_CHANGED', `Run ${runId} was moved to version ${answer.version} meanwhile. Look at it, then ask again.`, 'tell', { runId, version: answer.version })
  if (answer.outcome === 'wrong_state') throw new PawlError('WRONG_STATE', `Run ${runId} is ${answer.status}: nothing of it will ever run again. Start a new run instead.`, 'tell', { runId, state: answer.status })
  await parts.ring(runId)
  return { dryRun: false, runId, status, from, to: toPins, moved: answer.moved }
}

function findTarget(facts: RepinFacts, agents: readonly AnyAgentContract[] | undefined, to: string): Target {
  const configured = agents?.filter((agent) => agent.name === facts.agent) ?? []
  const contract = configured.find((agent) => agent.version === to)
  const isConfigured = contract !== undefined || configured.some((agent) => agent.serves?.includes(to))
  const builds = facts.builds.filter((build) => build.items)
  const build = builds.find((one) => one.version === to)
  if (build) {
    return { pins: { agentVersion: to, modelVersion: build.model, promptVersion: build.prompt, lockDigest: build.lock, tools: build.pins }, has: new Set(Object.keys(build.tools)), workers: builds.length, isConfigured }
  }
  if (contract) {
    const { agentVersion, modelVersion, promptVersion, lockDigest, tools } = pinsOf(contract)
    return { pins: { agentVersion, modelVersion, promptVersion, lockDigest, tools }, has: new Set(allTools(contract).map((tool) => `${tool.name}@${tool.version}`)), workers: builds.length, isConfigured }
  }
  // Served by a newer build only, or by nobody yet: whoever claims first says the rest.
  const other = builds[0]
  return { pins: { agentVersion: to, modelVersion: null, promptVersion: null, lockDigest: null, tools: null }, has: other && new Set(Object.keys(other.tools)), workers: builds.length, isConfigured }
}

const unservedCalls = (facts: RepinFacts, { has }: Target): RepinPreview['unserved'] => (has === undefined ? [] : facts.calls.filter((call) => !has.has(`${call.tool}@${call.version}`)))

/** Where version, effect class or key format changes, what another item did under the old key is not recognised. */
function changedTools(before: Readonly<Record<string, ToolPin>> | null, after: Readonly<Record<string, ToolPin>> | null): RepinPreview['changedTools'] {
  if (before === null || after === null) return []
  return Object.entries(before).flatMap(([tool, pin]) => {
    const next = after[tool]
    if (next !== undefined && next.version === pin.version && next.format === pin.format) return []
    return [{ tool, from: pin.version, to: next?.version ?? null, isKeyChanged: next !== undefined && next.format !== pin.format }]
  })
}
