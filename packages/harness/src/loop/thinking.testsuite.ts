/** A model that follows a script but words, orders and numbers its calls differently on every request, and counts what it is asked. */
import { randomUUID } from 'node:crypto'
import type { LanguageModelV3CallOptions, LanguageModelV3Content, LanguageModelV3GenerateResult, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV3 } from 'ai/test'

export interface ScriptedTurn {
  readonly text?: string
  /** As the model names the tool. A string input is passed on as it is, JSON or not. */
  readonly calls?: readonly { readonly tool: string; readonly input: object | string }[]
  readonly finishReason?: LanguageModelV3GenerateResult['finishReason']['unified']
  /** In place of an answer. */
  readonly fails?: () => Error
}

export interface ThinkingModel {
  readonly model: MockLanguageModelV3
  /** Requests for each turn, by item key. */
  asked(item: string, turn?: number): number
  /** The last prompt about an item, as text. */
  prompt(item: string): string
}

const usage = { inputTokens: { total: 100, noCache: 60, cacheRead: 40, cacheWrite: 0 }, outputTokens: { total: 10, text: 10, reasoning: 0 } }

/** Reads which item and turn it is from the prompt alone, as a model would. */
export function thinkingModel(script: (item: string, turn: number, request: number, options: LanguageModelV3CallOptions) => ScriptedTurn | Promise<ScriptedTurn>): ThinkingModel {
  const requests = new Map<string, number>()
  const prompts = new Map<string, string>()
  const decide = async (options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> => {
    const text = JSON.stringify(options.prompt)
    const item = /# Item \d+ of the run: ([^\\\n]+)/.exec(text)?.[1] ?? 'unknown'
    const turn = options.prompt.filter((message) => message.role === 'assistant').length + 1
    const place = `${item}|${turn}`
    const request = (requests.get(place) ?? 0) + 1
    requests.set(place, request)
    prompts.set(item, text)
    const said = await script(item, turn, request, options)
    if (said.fails) throw said.fails()
    const calls = (said.calls ?? []).map(({ tool, input }): LanguageModelV3Content => ({
      type: 'tool-call', toolCallId: `call_${randomUUID()}`, toolName: tool,
      input: typeof input === 'string' ? input : JSON.stringify({ ...input, note: `worded ${randomUUID()}` }),
    }))
    const content: LanguageModelV3Content[] = [...(said.text === undefined ? [] : [{ type: 'text', text: said.text } as const]), ...calls.toSorted(() => Math.random() - 0.5)]
    return { content, finishReason: { unified: said.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined }, usage, warnings: [] }
  }
  return {
    model: new MockLanguageModelV3({
      modelId: 'scripted-1', doGenerate: async (options) => await decide(options),
      doStream: async (options) => ({ stream: ReadableStream.from(piecesOf(await decide(options))) as ReadableStream<LanguageModelV3StreamPart> }),
    }),
    asked: (item, turn) => [...requests].reduce((sum, [place, n]) => (place === `${item}|${turn}` || (turn === undefined && place.startsWith(`${item}|`)) ? sum + n : sum), 0),
    prompt: (item) => prompts.get(item) ?? '',
  }
}

function* piecesOf({ content, finishReason, usage: used }: LanguageModelV3GenerateResult): Iterable<LanguageModelV3StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  for (const [i, part] of content.entries()) {
    if (part.type === 'text') {
      yield { type: 'text-start', id: `${i}` }
      for (const piece of part.text.match(/.{1,4}/gs) ?? []) yield { type: 'text-delta', id: `${i}`, delta: piece }
      yield { type: 'text-end', id: `${i}` }
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName }
      yield part
    }
  }
  // A stream that breaks before its end.
  if (finishReason.unified !== 'other') yield { type: 'finish', finishReason, usage: used }
}
