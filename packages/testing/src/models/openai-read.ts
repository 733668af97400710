/**
 * Reads a chat completions request and refuses what the real API refuses about the order of messages: a call without its answer in the messages right after it,
 * an answer to nothing, two answers to one call, an assistant message without anything in it.
 */
import { z } from 'zod'
import { invalid, textOf, type Conversation, type ModelCall, type ModelTurn } from './conversation.ts'

const textPart = z.object({ type: z.literal('text'), text: z.string() })
const content = z.union([z.string(), z.array(textPart).min(1)])
const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1-64 of letters, digits, "_" and "-"')
const toolCall = z.object({ id: z.string().min(1).max(40), type: z.literal('function'), function: z.object({ name, arguments: z.string() }) })
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('developer'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(toolCall).min(1, 'must not be empty').optional() }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
])
const request = z.object({
  model: z.string().min(1), messages: z.array(message).min(1, 'must not be empty'), stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(z.object({ type: z.literal('function'), function: z.object({ name, parameters: z.record(z.string(), z.unknown()).optional() }) })).min(1, 'must not be empty').optional(),
  tool_choice: z.unknown().optional(),
})

export interface ReadRequest {
  readonly conversation: Conversation
  readonly stream: boolean
  /** The stream ends with a count of tokens. */
  readonly streamUsage: boolean
}

const plain = (given: z.infer<typeof content> | null | undefined): string => (given === null || given === undefined ? '' : typeof given === 'string' ? given : given.map((part) => part.text).join('\n'))

/** Throws `Refused`. */
export function readOpenAi(body: unknown): ReadRequest {
  const parsed = request.safeParse(body)
  if (!parsed.success) throw invalid(`${parsed.error.issues[0]?.path.join('.') ?? 'body'}: ${parsed.error.issues[0]?.message ?? 'does not fit'}`)
  const { model, messages, tools = [], tool_choice: choice, stream = false, stream_options: options } = parsed.data
  if (choice !== undefined && tools.length === 0) throw invalid('tool_choice: only with tools')
  const turns: ModelTurn[] = []
  /** Calls of the assistant message before, by id, that have no answer yet. */
  let waiting = new Map<string, ModelCall>()
  let results: { id: string; text: string }[] = []
  let known = new Set<string>()
  const close = (): void => {
    if (waiting.size > 0) throw invalid(`messages: these tool_call_ids have no tool message right after their assistant message: ${[...waiting.keys()].join(', ')}`)
    if (results.length > 0) turns.push({ role: 'tool', results })
    results = []
    known = new Set()
  }
  for (const [at, each] of messages.entries()) {
    if (each.role === 'tool') {
      if (known.size === 0) throw invalid(`messages.${at}: a tool message must follow the assistant message with its tool_calls`)
      if (!known.has(each.tool_call_id)) throw invalid(`messages.${at}: no call ${each.tool_call_id} in the assistant message before it`)
      if (!waiting.delete(each.tool_call_id)) throw invalid(`messages.${at}: a second answer to call ${each.tool_call_id}`)
      results.push({ id: each.tool_call_id, text: plain(each.content) })
      continue
    }
    close()
    if (each.role === 'user') turns.push({ role: 'user', text: plain(each.content) })
    if (each.role !== 'assistant') continue
    const calls = (each.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, input: argumentsOf(call.function.arguments, at) }))
    if (calls.length === 0 && plain(each.content) === '') throw invalid(`messages.${at}: an assistant message needs content or tool_calls`)
    waiting = new Map(calls.map((call) => [call.id, call]))
    if (waiting.size !== calls.length) throw invalid(`messages.${at}.tool_calls: two calls with one id`)
    known = new Set(waiting.keys())
    turns.push({ role: 'assistant', text: plain(each.content), calls })
  }
  close()
  const system = messages.filter((each) => each.role === 'system' || each.role === 'developer').map((each) => plain(each.content)).join('\n')
  const conversation: Conversation = { api: 'openai', model, system, turns, tools: tools.map((tool) => tool.function.name), text: textOf(system, turns) }
  return { conversation, stream, streamUsage: options?.include_usage === true }
}

/** Some servers behind this API feed the arguments to a chat template, which needs an object. */
function argumentsOf(text: string, at: number): unknown {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text))
  } catch {
    throw invalid(`messages.${at}.tool_calls: arguments must be the text of a JSON object`)
  }
}
