/**
 * What a run is pinned to, and what a build can serve. Both are read off the agent's definition, so the service that starts a run and the worker
 * that goes on with it mean the same thing.
 */
import { digest } from '@pawl/core'
import { lockAgent } from './lock.ts'
import { formatDigest } from './key-format.ts'
import { allTools, currentTools, type ToolHolder } from './reach.ts'

/** A model and its prompt, as they are compared: names or digests. */
export interface ModelPins {
  readonly model?: string | undefined
  readonly prompt?: string | undefined
}

/** From one schema version to the next: a function of the payload, or one for each that changed. */
export type Upcast = ((payload: unknown) => unknown) | { readonly payload?: (payload: unknown) => unknown; readonly input?: (input: unknown) => unknown }

/** As much of an agent as its pins need; one made with `defineAgent` fits. */
export interface PinnedAgent extends ToolHolder {
  readonly name: string
  readonly version: string
  readonly serves?: readonly string[] | undefined
  readonly schemaVersion?: number | undefined
  readonly upcast?: Readonly<Record<number, Upcast>> | undefined
  readonly pins?: ModelPins | undefined
  /** A loop says of itself which model and prompt it runs: `pins` on the function. */
  readonly run?: unknown
}

/** One tool of a run: its version, and what effect class and key format were when the run began. */
export interface ToolPin {
  readonly version: string
  readonly format: string
}

export interface RunPins {
  readonly agentVersion: string
  readonly modelVersion: string | null
  readonly promptVersion: string | null
  readonly schemaVersion: number
  readonly lockDigest: string
  readonly tools: Readonly<Record<string, ToolPin>>
}

/** What a worker's build offers for the runs of one agent version. */
export interface BuildOffer {
  readonly version: string
  readonly model: string | null
  readonly prompt: string | null
  /** Its own, and the oldest it can read by its upcasters. */
  readonly schema: number
  readonly schemaFrom: number
  readonly lock: string
  /** By `name@version`: the format digest. */
  readonly tools: Readonly<Record<string, string>>
  readonly pins: Readonly<Record<string, ToolPin>>
}

export function modelPinsOf(agent: PinnedAgent): { model: string | null; prompt: string | null } {
  const own = (typeof agent.run === 'function' && 'pins' in agent.run ? agent.run.pins : undefined) as ModelPins | undefined
  return { model: agent.pins?.model ?? own?.model ?? null, prompt: agent.pins?.prompt ?? own?.prompt ?? null }
}

const toolPinsOf = (agent: PinnedAgent): Record<string, ToolPin> =>
  Object.fromEntries(currentTools(agent).map((tool) => [tool.name, { version: tool.version, format: formatDigest(tool) }]))

/** Digest of the agent's part of the lock: what other agents change changes no run of this one. */
export const lockDigestOf = (agent: PinnedAgent): string => digest(lockAgent(agent, modelPinsOf(agent)).pinned)

export function pinsOf(agent: PinnedAgent): RunPins {
  const { model, prompt } = modelPinsOf(agent)
  return {
    agentVersion: agent.version, modelVersion: model, promptVersion: prompt, schemaVersion: agent.schemaVersion ?? 1,
    lockDigest: lockDigestOf(agent), tools: toolPinsOf(agent),
  }
}

export function offerOf(agent: PinnedAgent): BuildOffer {
  const schema = agent.schemaVersion ?? 1
  let schemaFrom = schema
  while (schemaFrom > 1 && agent.upcast && Object.hasOwn(agent.upcast, schemaFrom - 1)) schemaFrom--
  const tools = allTools(agent)
  return {
    version: agent.version, ...modelPinsOf(agent), schema, schemaFrom, lock: lockDigestOf(agent), pins: toolPinsOf(agent),
    tools: Object.fromEntries(tools.map((tool) => [`${tool.name}@${tool.version}`, formatDigest(tool)])),
  }
}
