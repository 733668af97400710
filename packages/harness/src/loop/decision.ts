/**
 * A model's answer as one decision: what it said, what it asked to be called, and which of that was refused before anything was sent.
 * Checked and keyed before it is recorded, so that a resumed item asks nothing again: neither the model nor a schema that may have changed since. Pure.
 */
import { decode, encode, limits, parseJson, PawlError, turnDecision, type TurnDecision } from '@pawl/core'
import type { LanguageModelV3Content, LanguageModelV3FinishReason, LanguageModelV3Usage } from '@ai-sdk/provider'

/** What a model call comes to, streamed or not. */
export interface ModelAnswer {
  readonly content: readonly LanguageModelV3Content[]
  readonly finishReason: LanguageModelV3FinishReason
  readonly usage: LanguageModelV3Usage
}

/** A call as the model words it; `input` undefined when what it wrote is no JSON object, or one whose numbers would not stay as it wrote them: then `misfit` says so. */
export interface AskedCall {
  readonly name: string
  readonly input: Record<string, unknown> | undefined
  readonly misfit?: string
  readonly text: string
  readonly providerOptions: NonNullable<TurnDecision['calls'][number]['providerOptions']> | undefined
}

export interface Said extends Pick<TurnDecision, 'text' | 'reasoning' | 'finishReason'> {
  readonly asked: readonly AskedCall[]
}

/** Throws `MODEL_ANSWER` where the provider itself executed a tool: no ledger saw that call. */
export function readAnswer({ content, finishReason }: ModelAnswer): Said {
  const texts: string[] = []
  const reasoning: NonNullable<TurnDecision['reasoning']> = []
  const asked: AskedCall[] = []
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'reasoning') reasoning.push({ text: part.text, ...optionsOf(part.providerMetadata) })
    else if (part.type === 'tool-call') {
      if (part.providerExecuted) {
        throw new PawlError('MODEL_ANSWER', `The model's provider ran the tool "${part.toolName}" itself, outside the ledger. Take that tool off the model and give it to the agent.`, 'fail', { tool: part.toolName })
      }
      asked.push({ name: part.toolName, ...objectOf(part.input), text: part.input, providerOptions: optionsOf(part.providerMetadata).providerOptions })
    }
  }
  return { text: texts.join(''), asked, finishReason: finishReason.unified, ...(reasoning.length > 0 ? { reasoning } : {}) }
}

const optionsOf = (metadata: unknown): { providerOptions?: NonNullable<TurnDecision['calls'][number]['providerOptions']> } =>
  (metadata === undefined || metadata === null ? {} : { providerOptions: JSON.parse(JSON.stringify(metadata)) as NonNullable<TurnDecision['calls'][number]['providerOptions']> })

/** Some models write nothing at all where a tool takes no input. */
function objectOf(text: string): Pick<AskedCall, 'input' | 'misfit'> {
  if (text.trim() === '') return { input: {} }
  try {
    const value = parseJson(text, 'The input')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { input: value as Record<string, unknown> }
  } catch (error) {
    if (error instanceof PawlError && error.code !== 'MALFORMED_JSON') return { input: undefined, misfit: `${error.message} Nothing was sent.` }
  }
  return { input: undefined, misfit: 'The input is no JSON object. Nothing was sent.' }
}

export const encodeDecision = (decision: TurnDecision): string => encode(decision, { what: 'decision of a turn', maxBytes: limits.resultBytes })

/** Throws `BAD_TURN`: written by a build this one does not know. */
export function decodeDecision(n: number, text: string): TurnDecision {
  const parsed = turnDecision.safeParse(decode(text))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new PawlError('BAD_TURN', `Turn ${n} of the item does not read as a decision (${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unknown'}). Serve this run with the build that wrote it.`, 'fail', { turn: n })
  }
  return parsed.data
}

/** Turns in a row, up to and with this one, in which a call was refused. */
export function refusedInARow(decisions: readonly TurnDecision[]): number {
  const lastGood = decisions.findLastIndex((decision) => !decision.calls.some((call) => call.refusal !== undefined))
  return decisions.length - 1 - lastGood
}
