/** What the client needs to know of an agent, and finding the one that is asked for. An agent made with `defineAgent` fits. */
import { PawlError, type FailurePolicy } from '@pawl/core'
import type { BudgetLimits } from '@pawl/ledger'
import type { AnyTool, ModelPins, ToolMap, Upcast } from '@pawl/tools'
import type { z } from 'zod'

export interface AgentContract<I = unknown, P = unknown> {
  readonly name: string
  readonly version: string
  readonly inputSchema: z.ZodType<I>
  readonly payloadSchema: z.ZodType<P>
  readonly tools?: ToolMap
  readonly previousTools?: readonly AnyTool[]
  readonly serves?: readonly string[]
  readonly schemaVersion?: number
  readonly upcast?: Readonly<Record<number, Upcast>>
  readonly pins?: ModelPins
  split?(input: I): unknown
  /** A loop says which model and prompt it runs, and what its model is told; any other `run` says nothing. */
  readonly run?: unknown
  readonly policy?: { readonly onFailure?: FailurePolicy; readonly maxFailures?: number; readonly maxConcurrency?: number; readonly budget?: BudgetLimits; readonly itemBudget?: BudgetLimits; readonly approval?: { readonly expiresMs?: number; readonly notByRequester?: boolean } }
}

// oxlint-disable-next-line typescript/no-explicit-any -- agents kept together have existential types
export type AnyAgentContract = AgentContract<any, any>

/** What a run of this agent is checked against; `contract` undefined: this client was given no agents and the ledger takes its word. */
export interface ChosenAgent {
  readonly name: string
  readonly version: string
  readonly contract: AnyAgentContract | undefined
}

/** `known` undefined: the client knows no agents; then the version must be said. Throws `UNKNOWN_AGENT`, `UNKNOWN_VERSION`, `VERSION_NEEDED`. */
export function chooseAgent(known: readonly AnyAgentContract[] | undefined, agent: AnyAgentContract | string, version: string | undefined): ChosenAgent {
  if (typeof agent !== 'string') return { name: agent.name, version: agent.version, contract: agent }
  if (known === undefined) {
    if (version === undefined) throw new PawlError('VERSION_NEEDED', `Agent "${agent}" was named without a version, and this client was given no agents to look it up in. Pass { version }, or the agents to createClient.`, 'tell', { agent })
    return { name: agent, version, contract: undefined }
  }
  const named = known.filter((each) => each.name === agent)
  if (named.length === 0) {
    const names = [...new Set(known.map((each) => `"${each.name}"`))].join(', ')
    throw new PawlError('UNKNOWN_AGENT', `There is no agent "${agent.slice(0, 100)}" here. Known: ${names || 'none'}. Register it, or correct the name.`, 'tell', { agent: agent.slice(0, 100) })
  }
  const chosen = version === undefined ? named[0] : named.find((each) => each.version === version)
  if (chosen === undefined) {
    throw new PawlError('UNKNOWN_VERSION', `Agent "${agent}" has no version "${version?.slice(0, 100)}" here. Known: ${named.map((each) => `"${each.version}"`).join(', ')}. Leave the version away for the newest.`, 'tell', { agent })
  }
  return { name: chosen.name, version: chosen.version, contract: chosen }
}
