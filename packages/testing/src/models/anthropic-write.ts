/** Answers of the Messages API, whole and as server-sent events. */
import { pieces, type Meta } from './openai-write.ts'
import type { Answer } from './worded.ts'

const stopOf = (answer: Answer): string => (answer.calls.length > 0 ? 'tool_use' : 'end_turn')

export function anthropicWhole(answer: Answer, meta: Meta): unknown {
  return {
    id: meta.id, type: 'message', role: 'assistant', model: meta.model, stop_reason: stopOf(answer), stop_sequence: null,
    usage: { input_tokens: meta.inputTokens, output_tokens: meta.outputTokens },
    content: [...(answer.text === '' ? [] : [{ type: 'text', text: answer.text }]), ...answer.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.input }))],
  }
}

export function anthropicStream(answer: Answer, meta: Meta): string[] {
  const frame = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const blocks = [
    ...(answer.text === '' ? [] : [{ start: { type: 'text', text: '' }, deltas: pieces(answer.text).map((text) => ({ type: 'text_delta', text })) }]),
    ...answer.calls.map((call) => ({
      start: { type: 'tool_use', id: call.id, name: call.name, input: {} }, deltas: ['', ...pieces(JSON.stringify(call.input))].map((text) => ({ type: 'input_json_delta', partial_json: text })),
    })),
  ]
  return [
    frame('message_start', { message: { id: meta.id, type: 'message', role: 'assistant', model: meta.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: meta.inputTokens, output_tokens: 1 } } }),
    frame('ping', {}),
    ...blocks.flatMap(({ start, deltas }, index) => [
      frame('content_block_start', { index, content_block: start }), ...deltas.map((delta) => frame('content_block_delta', { index, delta })), frame('content_block_stop', { index }),
    ]),
    frame('message_delta', { delta: { stop_reason: stopOf(answer), stop_sequence: null }, usage: { output_tokens: meta.outputTokens } }),
    frame('message_stop', {}),
  ]
}

export const anthropicError = (status: number, type: string, message: string): unknown =>
  ({ type: 'error', error: { type: status === 529 ? 'overloaded_error' : status === 429 ? 'rate_limit_error' : status >= 500 ? 'api_error' : type, message } })
