/**
 * Reads a Messages API request and refuses what the real API refuses: a tool_use whose result is not in the very next message, a result of nothing, two results
 * of one use, text before results, empty text, a first message that is not the user's, an assistant's end with white space.
 * Messages of one role in a row count as one, as there.
 */
import { z } from 'zod'
import { invalid, textOf, type ModelCall, type ModelTurn } from './conversation.ts'
import type { ReadRequest } from './openai-read.ts'

const cache = { cache_control: z.unknown().optional() }
const textBlock = z.object({ type: z.literal('text'), text: z.string(), ...cache })
const use = z.object({
  type: z.literal('tool_use'), id: z.string().regex(/^[a-zA-Z0-9_-]+$/, 'must be of letters, digits, "_" and "-"'), name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must be 1-128 of letters, digits, "_" and "-"'),
  input: z.record(z.string(), z.unknown()), ...cache,
})
const result = z.object({ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.union([z.string(), z.array(textBlock)]).optional(), is_error: z.boolean().nullish(), ...cache })
const thinking = z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) })
const block = z.discriminatedUnion('type', [textBlock, use, result, thinking])
const message = z.object({ role: z.enum(['user', 'assistant']), content: z.union([z.string(), z.array(block)]) })
const request = z.object({
  model: z.string().min(1), max_tokens: z.number().int().min(1), messages: z.array(message).min(1, 'must not be empty'), stream: z.boolean().optional(),
  system: z.union([z.string(), z.array(textBlock)]).optional(),
  tools: z.array(z.object({ name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must be 1-128 of letters, digits, "_" and "-"'), input_schema: z.looseObject({ type: z.literal('object') }) })).optional(),
  tool_choice: z.unknown().optional(),
})
type Block = z.infer<typeof block>

interface Merged {
  readonly role: 'user' | 'assistant'
  readonly blocks: Block[]
}

/** Throws `Refused`. */
export function readAnthropic(body: unknown): ReadRequest {
  const parsed = request.safeParse(body)
  if (!parsed.success) throw invalid(`${parsed.error.issues[0]?.path.join('.') ?? 'body'}: ${parsed.error.issues[0]?.message ?? 'does not fit'}`)
  const { model, messages, tools = [], stream = false } = parsed.data
  const names = tools.map((tool) => tool.name)
  if (new Set(names).size !== names.length) throw invalid('tools: two tools of one name')
  if (parsed.data.tool_choice !== undefined && names.length === 0) throw invalid('tool_choice: only with tools')
  const systems = typeof parsed.data.system === 'string' ? [parsed.data.system] : (parsed.data.system ?? []).map((each) => each.text)
  if (Array.isArray(parsed.data.system) && systems.some(isBlank)) throw invalid('system: text blocks must not be empty')
  const merged = merge(messages)
  if (merged[0]?.role !== 'user') throw invalid('messages: the first message must be the user\'s')
  checkPairs(merged)
  if (names.length === 0 && merged.some(({ blocks }) => blocks.some((each) => each.type === 'tool_use' || each.type === 'tool_result'))) throw invalid('tools: must be defined where messages hold tool_use or tool_result')
  const turns = merged.flatMap(turnsOf)
  const system = systems.join('\n')
  return { conversation: { api: 'anthropic', model, system, turns, tools: names, text: textOf(system, turns) }, stream, streamUsage: true }
}

const isBlank = (text: string): boolean => text.trim() === ''

function merge(messages: readonly z.infer<typeof message>[]): Merged[] {
  const merged: Merged[] = []
  for (const [at, { role, content }] of messages.entries()) {
    const isLastAssistant = role === 'assistant' && at === messages.length - 1
    const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (!isLastAssistant && (blocks.length === 0 || (typeof content === 'string' && isBlank(content)))) throw invalid(`messages.${at}: content must not be empty`)
    for (const each of blocks) {
      if (each.type === 'text' && isBlank(each.text)) throw invalid(`messages.${at}: text must hold more than white space`)
      if (each.type === 'tool_result' && role !== 'user') throw invalid(`messages.${at}: tool_result belongs into a user message`)
      if ((each.type === 'tool_use' || each.type === 'thinking') && role !== 'assistant') throw invalid(`messages.${at}: ${each.type} belongs into an assistant message`)
    }
    const last = blocks.at(-1)
    if (isLastAssistant && last?.type === 'text' && last.text !== last.text.trimEnd()) throw invalid(`messages.${at}: the last assistant message must not end with white space`)
    const before = merged.at(-1)
    if (before?.role === role) before.blocks.push(...blocks)
    else merged.push({ role, blocks: [...blocks] })
  }
  return merged
}

function checkPairs(merged: readonly Merged[]): void {
  const used = new Set<string>()
  for (const [at, { role, blocks }] of merged.entries()) {
    if (role === 'assistant') {
      const uses = blocks.flatMap((each) => (each.type === 'tool_use' ? [each.id] : []))
      for (const id of uses) {
        if (used.has(id)) throw invalid(`messages.${at}: tool_use ids must be unique, ${id} is not`)
        used.add(id)
      }
      const answered = new Set(merged[at + 1]?.blocks.flatMap((each) => (each.type === 'tool_result' ? [each.tool_use_id] : [])))
      const missing = uses.filter((id) => !answered.has(id))
      if (missing.length > 0) throw invalid(`messages.${at}: tool_use without its tool_result in the next message: ${missing.join(', ')}`)
      continue
    }
    const before = new Set(merged[at - 1]?.blocks.flatMap((each) => (each.type === 'tool_use' ? [each.id] : [])))
    const seen = new Set<string>()
    for (const [place, each] of blocks.entries()) {
      if (each.type !== 'tool_result') continue
      if (!before.has(each.tool_use_id)) throw invalid(`messages.${at}: no tool_use ${each.tool_use_id} in the message before`)
      if (seen.has(each.tool_use_id)) throw invalid(`messages.${at}: a second tool_result of ${each.tool_use_id}`)
      if (blocks.slice(0, place).some((earlier) => earlier.type !== 'tool_result')) throw invalid(`messages.${at}: tool_result must come before other content`)
      seen.add(each.tool_use_id)
    }
  }
}

function turnsOf({ role, blocks }: Merged): ModelTurn[] {
  const text = blocks.flatMap((each) => (each.type === 'text' ? [each.text] : [])).join('\n')
  if (role === 'assistant') {
    const calls: ModelCall[] = blocks.flatMap((each) => (each.type === 'tool_use' ? [{ id: each.id, name: each.name, input: each.input }] : []))
    return [{ role, text, calls }]
  }
  const results = blocks.flatMap((each) => each.type === 'tool_result' ? [{ id: each.tool_use_id, text: typeof each.content === 'string' ? each.content : (each.content ?? []).map((part) => part.text).join('\n') }] : [])
  return [...(results.length > 0 ? [{ role: 'tool' as const, results }] : []), ...(text === '' ? [] : [{ role: 'user' as const, text }])]
}
