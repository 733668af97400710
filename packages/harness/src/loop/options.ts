/** What an agent's author says about its loop, checked when the program starts. */
import { digest, durationMs, PawlError, type Duration } from '@pawl/core'
import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider'
import type { BudgetLimits } from '@pawl/ledger'
import type { z } from 'zod'
import type { Prices } from './budget.ts'
import type { TurnDelta } from './stream.ts'

/** A model of `ai` 7. What the loop asks of it and reads from its answer (text, reasoning, calls, results, usage) is as with one of `ai` 6. */
interface LanguageModelV4 {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  doGenerate(options: never): PromiseLike<unknown>
  doStream(options: never): PromiseLike<unknown>
}
export type LoopModel = LanguageModelV3 | LanguageModelV4

export interface LoopOptions {
  /** A language model of the AI SDK 6 or 7, or how to make one: then this process needs no provider's key until the first turn, and the versions have to be said. */
  readonly model: LoopModel | (() => LoopModel)
  /** The agent's instructions: the same for every item. */
  readonly system: string
  /** Which of the agent's tools the model may call, by their names in `tools`. Default: all. */
  readonly tools?: readonly string[]
  /** Turns of one item; then it blocks with `budget`. Default 30. */
  readonly maxTurns?: number
  /** Of the prompt that is rebuilt for each turn, tool definitions and answer apart. Default 30,000. */
  readonly contextTokens?: number
  /** Of one item. A run's own is its policy's `budget`. What is spent is looked at before each turn, so a turn may exceed it. */
  readonly budget?: BudgetLimits
  /** Needed for budgets of cost. */
  readonly prices?: Prices
  /** The model ends by giving an answer of this shape, which is the item's result. Without it the result is its final text. */
  readonly output?: z.ZodType
  /** Pins. Defaults: the model's id; the digest of `system`. */
  readonly modelVersion?: string
  readonly promptVersion?: string
  /** One request. Default 5 minutes. */
  readonly modelTimeout?: Duration
  /** How long a model that is broken or away is asked again before the item fails. Default 2 minutes. Rate limits spend none of it. */
  readonly patience?: Duration
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly providerOptions?: LanguageModelV3CallOptions['providerOptions']
  /** Told of the running turn, piece by piece. With it the model is streamed. */
  readonly onDelta?: (delta: TurnDelta, place: TurnPlace) => void
}

export interface TurnPlace {
  readonly runId: string
  readonly seq: number
  readonly turn: number
}

/** Checked, with its defaults. */
export interface Loop {
  readonly model: () => LanguageModelV3
  readonly modelVersion: string
  readonly promptVersion: string
  readonly system: string
  readonly tools: readonly string[] | undefined
  readonly contextTokens: number
  readonly budget: BudgetLimits
  readonly prices: Prices | undefined
  readonly output: z.ZodType | undefined
  readonly modelTimeoutMs: number
  readonly patienceMs: number
  readonly request: Pick<LanguageModelV3CallOptions, 'maxOutputTokens' | 'temperature' | 'providerOptions'>
  readonly onDelta: LoopOptions['onDelta']
  readonly isWatched: boolean
}

const refuse = (sentence: string): never => { throw new PawlError('BAD_LOOP', `agentLoop: ${sentence}`, 'crash') }

/** Throws `BAD_LOOP`, naming the option and the way out. */
export function checkLoop(options: LoopOptions): Loop {
  const { model, maxTurns = 30, contextTokens = 30_000, maxOutputTokens, temperature, providerOptions } = options
  const make = once(() => spokenTo(typeof model === 'function' ? model() : model))
  if (typeof model !== 'function') make()
  const modelVersion = options.modelVersion ?? (typeof model === 'function' ? refuse('a model that is made later has no id yet. Say modelVersion.') : model.modelId)
  if (typeof options.system !== 'string' || options.system.trim() === '') refuse('system must hold the instructions of the agent.')
  if (!Number.isInteger(maxTurns) || maxTurns < 1) refuse('maxTurns must be a whole number from 1.')
  if (!Number.isInteger(contextTokens) || contextTokens < 500) refuse('contextTokens must be a whole number from 500.')
  if (options.budget?.cost !== undefined && !options.prices) refuse('a budget of cost needs prices: what a million tokens of this model cost.')
  return {
    model: make, modelVersion, promptVersion: options.promptVersion ?? digest(options.system).slice(0, 16), system: options.system, tools: options.tools, contextTokens,
    budget: { turns: maxTurns, ...options.budget }, prices: options.prices, output: options.output,
    modelTimeoutMs: durationMs(options.modelTimeout ?? '5m', 'agentLoop modelTimeout'), patienceMs: durationMs(options.patience ?? '2m', 'agentLoop patience'),
    request: {
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }), ...(temperature === undefined ? {} : { temperature }), ...(providerOptions === undefined ? {} : { providerOptions }),
    },
    onDelta: options.onDelta, isWatched: options.onDelta !== undefined,
  }
}

const versions: readonly unknown[] = ['v3', 'v4']

/** The one place where the two kinds are taken for one. */
function spokenTo(model: LoopModel): LanguageModelV3 {
  if (typeof model !== 'object' || typeof model.doGenerate !== 'function') return refuse('model must be a language model of the AI SDK, for instance anthropic("…"), or a function that makes one.')
  if (!versions.includes(model.specificationVersion)) return refuse(`model is of specification ${String(model.specificationVersion)}; Pawl speaks to those of ai 6 (v3) and ai 7 (v4). Take a provider package that goes with one of them.`)
  return model as LanguageModelV3
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
