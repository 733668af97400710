/**
 * One turn as messages: the model's words and calls in one assistant message, then one tool message with exactly one result for each call.
 * Both providers demand that adjacency. Calls are numbered by turn and place, whatever the provider called them: valid everywhere, and the same on every rebuild.
 */
import type { Detail } from './detail.ts'
import type { BriefAction, BriefMessage, BriefPart, BriefQuestion, BriefTurn, TurnCall } from './facts.ts'
import { cut, showInput, wellFormed } from './show.ts'
import { tellAnswer, tellRepeated, tellResult } from './tell.ts'

export interface Settled {
  readonly actions: ReadonlyMap<string, BriefAction>
  readonly questions: ReadonlyMap<string, BriefQuestion>
}

const maxToolName = 64

/**
 * A tool's name as every provider takes it: letters, digits, `_`, `-`, at most 64. Names that are so already stay as they are, but for those every object
 * has (`toString`, which a model may make up): @ai-sdk/anthropic 3 looks names up in a plain object and then leaves such a call out of its request.
 */
export function modelToolName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, maxToolName) || 'tool'
  return plain in {} ? `${plain}_` : plain
}

export function turnMessages(turn: BriefTurn, settled: Settled, detail: Detail): BriefMessage[] {
  const text = wellFormed(cut(turn.text.trim(), detail.words))
  const parts: BriefPart[] = []
  if (turn.calls.length > 0) for (const { text: thought, providerOptions } of turn.reasoning ?? []) parts.push({ type: 'reasoning', text: thought, ...(providerOptions === undefined ? {} : { providerOptions }) })
  if (text !== '') parts.push({ type: 'text', text })
  const calls = turn.calls.map((call, i) => ({ call, toolCallId: `t${turn.n}_${i + 1}`, toolName: modelToolName(call.name) }))
  for (const { call, toolCallId, toolName } of calls) {
    parts.push({ type: 'tool-call', toolCallId, toolName, input: showInput(call.input, detail.verbatim), ...(call.providerOptions === undefined ? {} : { providerOptions: call.providerOptions }) })
  }
  if (parts.length === 0) return []
  if (calls.length === 0) return [{ role: 'assistant', content: parts }, { role: 'user', content: 'Go on.' }]
  const shown = new Set<string>()
  return [
    { role: 'assistant', content: parts },
    { role: 'tool', content: calls.map(({ call, toolCallId, toolName }) => ({ type: 'tool-result', toolCallId, toolName, output: outputOf(call, settled, detail, shown) })) },
  ]
}

function outputOf(call: TurnCall, settled: Settled, detail: Detail, shown: Set<string>): { type: 'text' | 'error-text'; value: string } {
  const { key, refusal } = call
  if (refusal !== undefined) return { type: 'error-text', value: wellFormed(`[not sent: refused before the ledger]\n${cut(refusal, detail.verbatim)}`) }
  if (key === null) return { type: 'text', value: '[not sent yet]' }
  if (shown.has(key)) return { type: 'text', value: tellRepeated(key) }
  shown.add(key)
  const action = settled.actions.get(key)
  if (action) return tellResult(action, detail)
  const question = settled.questions.get(key)
  if (question) return { type: 'text', value: tellAnswer(question, detail) }
  return { type: 'text', value: wellFormed(`[not sent yet · key ${key}]`) }
}
