/** Answers of the chat completions API, whole and as server-sent events. */
import type { Answer } from './worded.ts'

export interface Meta {
  readonly id: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly streamUsage: boolean
}

const usageOf = ({ inputTokens, outputTokens }: Meta): object => ({ prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens })
const finishOf = (answer: Answer): string => (answer.calls.length > 0 ? 'tool_calls' : 'stop')

export function openAiWhole(answer: Answer, meta: Meta): unknown {
  const calls = answer.calls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } }))
  return {
    id: meta.id, object: 'chat.completion', created: 0, model: meta.model, usage: usageOf(meta),
    choices: [{ index: 0, finish_reason: finishOf(answer), message: { role: 'assistant', content: answer.text === '' ? null : answer.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) } }],
  }
}

export function openAiStream(answer: Answer, meta: Meta): string[] {
  const frame = (choices: unknown[], more: object = {}): string => `data: ${JSON.stringify({ id: meta.id, object: 'chat.completion.chunk', created: 0, model: meta.model, choices, ...more })}\n\n`
  const delta = (given: object, finish: string | null = null): string => frame([{ index: 0, delta: given, finish_reason: finish }])
  return [
    delta({ role: 'assistant', content: '' }),
    ...pieces(answer.text).map((content) => delta({ content })),
    ...answer.calls.flatMap((call, index) => [
      delta({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }),
      ...pieces(JSON.stringify(call.input)).map((text) => delta({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    delta({}, finishOf(answer)),
    ...(meta.streamUsage ? [frame([], { usage: usageOf(meta) })] : []),
    'data: [DONE]\n\n',
  ]
}

export const openAiError = (status: number, type: string, message: string): unknown => ({ error: { message, type, param: null, code: status === 429 ? 'rate_limit_exceeded' : null } })

/** A few characters at a time, never half a surrogate pair. */
export function pieces(text: string): string[] {
  const chars = Array.from(text)
  return Array.from({ length: Math.ceil(chars.length / 12) }, (_, i) => chars.slice(i * 12, i * 12 + 12).join(''))
}
