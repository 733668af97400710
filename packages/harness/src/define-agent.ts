/**
 * An agent says how a run falls into items and what to do with one. Its `run` starts from the first line on every attempt;
 * calls already in the ledger return at once, so it may be killed anywhere.
 */
import { PawlError, type FailurePolicy } from '@pawl/core'
import type { BudgetLimits } from '@pawl/ledger'
import type { AnyTool, ModelPins, Tool, ToolMap, Upcast } from '@pawl/tools'
import type { z } from 'zod'

/** A tool as the agent calls it: the same input and result types, and a key when one item makes the same call twice on purpose. A staged call is kept, not sent, so it resolves to `undefined`. */
export type ToolCall<T> = T extends Tool<infer I, infer R> ? (input: I, options?: { key?: string }) => Promise<T extends { readonly stage: true } ? undefined : R> : never
export type ToolCalls<M extends ToolMap> = { readonly [K in keyof M]: ToolCall<M[K]> }

export interface ItemSeed<P> {
  /** Unique in its run, at most 300 characters. */
  readonly key: string
  readonly payload: P
}

/** What an item hands back: nothing, a value, or a reference to where the result is kept. */
export interface ItemOutcome {
  readonly result?: unknown
  /** Shown and linked beside the item: a commit, a message id, a URL. */
  readonly resultRef?: string
}

export interface RunFacts {
  readonly id: string
  readonly agent: string
  readonly version: string
  readonly labels: Readonly<Record<string, string>>
}

export interface AgentContext {
  readonly run: RunFacts
  readonly item: { readonly seq: number; readonly key: string }
  /** 1 for the first claim of the item. */
  readonly attempt: number
  /** Aborts when the attempt is over: stopped, paused, cancelled or taken over. */
  readonly signal: AbortSignal
  /** Keeps the answer of a nondeterministic *read* (a clock, a random number, a query). Effects belong in tools: `fn` runs again if the process dies before its answer is durable. In an item whose calls run beside each other every record needs a name of its own. */
  record<T>(name: string, fn: () => T | Promise<T>): Promise<T>
  /**
   * Asks a person and waits for the typed answer; meanwhile the worker is free. The answer is kept: every later attempt gets it at once. The n-th question of an
   * item is the n-th on every attempt, in the same words; where questions come in no fixed order, give each a `key` of its own. What the person may
   * answer is the schema's JSON Schema. The promise rejects with `BAD_QUESTION` when there is none; it never rejects because nobody answers.
   */
  ask<T>(question: string, schema: z.ZodType<T>, options?: { key?: string }): Promise<T>
  /** Gives the worker back until then. Returns at once when the time has passed. */
  sleepUntil(at: Date): Promise<void>
  /** Adds items to the running run. A key that is there with the same payload stays as it is. */
  addItems(items: readonly ItemSeed<unknown>[]): Promise<void>
  log(line: string): void
}

export interface AgentPolicy {
  /** What the run does when everything was tried and some items failed. Default `hold`. */
  readonly onFailure?: FailurePolicy
  readonly maxFailures?: number
  /** Items of one run at work at once. */
  readonly maxConcurrency?: number
  readonly approval?: {
    /** How long a request for a person's yes waits, in milliseconds, before it is asked anew. Default a week. */
    readonly expiresMs?: number
    /** Who started the run may not say yes to its calls. */
    readonly notByRequester?: boolean
  }
  /** What the models of one run may spend, all its items together. Spent, its items block with `budget` until a person raises it. */
  readonly budget?: BudgetLimits
  /** The same for each item; overrides what its loop says. */
  readonly itemBudget?: BudgetLimits
}

export interface RunTally {
  readonly done: number
  readonly failed: number
  readonly cancelled: number
  readonly total: number
}

export interface AgentDefinition<I, P, M extends ToolMap> {
  /** Lower case, digits, dots, dashes, underscores. */
  readonly name: string
  readonly version: string
  /** Older versions whose runs this build also takes on. Their pins stay: model, prompt and the versions of their tools must be what they were. */
  readonly serves?: readonly string[]
  /** Of input and payloads. Default 1; raise it when their shape changes, and say in `upcast` how the older one is read. */
  readonly schemaVersion?: number
  /** From each older schema version to the next. */
  readonly upcast?: Readonly<Record<number, Upcast>>
  /** Older versions of the tools, kept for runs that began with them: their calls are made, settled and undone by the code that knows them. */
  readonly previousTools?: readonly AnyTool[]
  /** Model and prompt that runs are pinned to. `agentLoop` says its own. */
  readonly pins?: ModelPins
  readonly inputSchema: z.ZodType<I>
  readonly payloadSchema: z.ZodType<P>
  readonly tools: M
  /** Items of a run, from its input. May die half-way: it is asked again and goes on by key. Absent: the caller brings the items. */
  split?(input: I): AsyncIterable<ItemSeed<P>> | Iterable<ItemSeed<P>>
  run(call: { readonly input: I; readonly payload: P; readonly tools: ToolCalls<M>; readonly ctx: AgentContext }): Promise<ItemOutcome | void>
  /** Once, after the last item. Its calls are journaled like any item's. */
  finalize?(call: { readonly input: I; readonly run: RunFacts & { readonly tally: RunTally }; readonly tools: ToolCalls<M>; readonly ctx: AgentContext }): Promise<{ result?: unknown } | void>
  readonly policy?: AgentPolicy
}

export type Agent<I = unknown, P = unknown, M extends ToolMap = ToolMap> = Readonly<AgentDefinition<I, P, M>> & { readonly kind: 'pawl.agent' }
/** An agent whatever its types: used where agents are kept together. */
// oxlint-disable-next-line typescript/no-explicit-any -- the one place where an agent's types are existential
export type AnyAgent = Agent<any, any, any>

const namePattern = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/
const versionPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$/

/** Registers an agent. Throws `BAD_AGENT`, naming the field and the way out. */
export function defineAgent<I, P, M extends ToolMap>(definition: AgentDefinition<I, P, M>): Agent<I, P, M> {
  const refuse = (sentence: string): never => {
    throw new PawlError('BAD_AGENT', `Agent "${definition.name}": ${sentence}`, 'crash', { agent: definition.name })
  }
  if (!namePattern.test(definition.name)) refuse('the name must be 1-64 characters of a-z, 0-9, ".", "-", "_" and begin and end with a letter or digit.')
  for (const version of [definition.version, ...(definition.serves ?? [])]) {
    if (!versionPattern.test(version)) refuse(`version "${version}" must be 1-40 characters of letters, digits, ".", "-", "_".`)
  }
  const names = new Map<string, string>()
  for (const [property, tool] of Object.entries(definition.tools)) {
    if (tool?.kind !== 'pawl.tool') refuse(`tools.${property} is not a tool. Make it with defineTool.`)
    const other = names.get(tool.name)
    if (other !== undefined) refuse(`tools.${other} and tools.${property} are both named "${tool.name}"; their journals would mix. Rename one.`)
    names.set(tool.name, property)
  }
  refusePast(definition, refuse)
  const { maxFailures, maxConcurrency } = definition.policy ?? {}
  if (maxFailures !== undefined && !(Number.isInteger(maxFailures) && maxFailures >= 1)) refuse('policy.maxFailures must be a whole number from 1.')
  if (maxConcurrency !== undefined && !(Number.isInteger(maxConcurrency) && maxConcurrency >= 1)) refuse('policy.maxConcurrency must be a whole number from 1.')
  return Object.freeze({ ...definition, kind: 'pawl.agent' as const })
}

/** What an agent says of older versions of itself. */
function refusePast(definition: Pick<AgentDefinition<unknown, unknown, ToolMap>, 'schemaVersion' | 'upcast' | 'previousTools' | 'tools'>, refuse: (sentence: string) => never): void {
  const { schemaVersion = 1, upcast = {}, previousTools = [], tools } = definition
  if (!(Number.isInteger(schemaVersion) && schemaVersion >= 1)) refuse('schemaVersion must be a whole number from 1.')
  const steps = Object.keys(upcast).map(Number).toSorted((a, b) => b - a)
  steps.forEach((step, i) => {
    if (step !== schemaVersion - 1 - i || step < 1) refuse(`upcast has a step from ${step}; the steps must lead without a gap to schemaVersion ${schemaVersion}, the last from ${schemaVersion - 1}.`)
  })
  const versions = new Set(Object.values(tools).map((tool) => `${tool.name}@${tool.version}`))
  for (const [i, tool] of previousTools.entries()) {
    if (tool?.kind !== 'pawl.tool') refuse(`previousTools[${i}] is not a tool. Make it with defineTool.`)
    const name = `${tool.name}@${tool.version}`
    if (versions.has(name)) refuse(`${name} is there twice, among tools and previousTools. A version is one definition: raise the newer one's.`)
    versions.add(name)
  }
}
