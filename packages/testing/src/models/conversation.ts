/** What was asked and what is answered, whichever API it came by. */
import { digest } from '@pawl/core'

export type ModelApi = 'openai' | 'anthropic'

export interface ModelCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface ModelToolResult {
  readonly id: string
  readonly text: string
}

export type ModelTurn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: 'tool'; readonly results: readonly ModelToolResult[] }

export interface Conversation {
  readonly api: ModelApi
  readonly model: string
  readonly system: string
  readonly turns: readonly ModelTurn[]
  /** Names of the tools that are offered. */
  readonly tools: readonly string[]
  /** Everything there is to read, for a policy that looks for a word. */
  readonly text: string
}

/** What the policy wants done next. No calls: the model is through. */
export interface Decision {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: Readonly<Record<string, unknown>> }[]
  /** Text members of the inputs, by name, that a model would word differently each time it is asked. */
  readonly reword?: readonly string[]
  /** Kept in the log beside the answer: which step of the policy this is. Answered twice under one label is asked twice for one decision. */
  readonly label?: string
}

/** Throwing is a failure of the test's own: answered as a 500 and kept in the log. */
export type Policy = (conversation: Conversation) => Decision | Promise<Decision>

/** Equal for equal conversations, whatever their calls are numbered. */
export function conversationDigest({ model, system, turns }: Conversation): string {
  const numbers = new Map<string, number>()
  const number = (id: string): number => numbers.get(id) ?? (numbers.set(id, numbers.size + 1), numbers.size)
  return digest({
    model, system,
    turns: turns.map((turn) => turn.role === 'assistant' ? { ...turn, calls: turn.calls.map((call) => ({ ...call, id: number(call.id) })) }
      : turn.role === 'tool' ? { ...turn, results: turn.results.map((result) => ({ ...result, id: number(result.id) })) } : turn),
  })
}

export const textOf = (system: string, turns: readonly ModelTurn[]): string => [system, ...turns.map((turn) =>
  turn.role === 'user' ? turn.text : turn.role === 'assistant' ? [turn.text, ...turn.calls.map((call) => `${call.name} ${JSON.stringify(call.input)}`)].join('\n') : turn.results.map((result) => result.text).join('\n'))].join('\n')

/** A request its API refuses. */
export class Refused extends Error {
  constructor(readonly status: number, readonly type: string, message: string) {
    super(message)
    this.name = 'Refused'
  }
}

export const invalid = (message: string): Refused => new Refused(400, 'invalid_request_error', message)
