/**
 * A model that decides what a plan says, and nothing else the same way twice: it words, orders and numbers its calls anew on every request. It knows where it is
 * from its prompt alone. So a turn that is asked for again after it was recorded shows: as other arguments under a key, or as an effect too many.
 */
import { newId } from '@pawl/core'
import type { LoopOptions } from '@pawl/harness'
import type { PlannedCall } from './run-plan.ts'

type Model = Exclude<LoopOptions['model'], () => unknown>

const usage = { inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 10, text: 10, reasoning: 0 } }

/** @param stepsOf by the run's input and the item's payload, as the prompt has them: the calls of each turn. After the last it ends. */
export function plannedModel(stepsOf: (input: unknown, payload: unknown) => readonly (readonly PlannedCall[])[]): Model {
  return {
    specificationVersion: 'v3', provider: 'planned', modelId: 'planned-1', supportedUrls: {},
    doStream: () => Promise.reject(new Error('the planned model does not stream')),
    doGenerate({ prompt }) {
      const [input, payload] = readPlace(JSON.stringify(prompt.filter((message) => message.role === 'user')))
      const step = stepsOf(input, payload)[prompt.filter((message) => message.role === 'assistant').length] ?? []
      const calls = step.map(({ tool, subject }) => ({
        type: 'tool-call' as const, toolCallId: newId(), toolName: tool, input: JSON.stringify(tool === 'shared' ? { subject } : { subject, note: newId() }),
      }))
      const content = calls.length === 0 ? [{ type: 'text' as const, text: 'All of it is done.' }] : calls.toSorted(() => Math.random() - 0.5)
      return Promise.resolve({ content, finishReason: { unified: calls.length === 0 ? 'stop' as const : 'tool-calls' as const, raw: undefined }, usage, warnings: [] })
    },
  }
}

function readPlace(text: string): [input: unknown, payload: unknown] {
  const found = /# Task\\n(.*?)\\n\\n# Item \d+ of the run: .*?\\n(.*?)\\n\\n/.exec(text)
  if (!found) throw new Error(`the prompt does not say where it is: ${text.slice(0, 500)}`)
  const value = (quoted: string | undefined): unknown => JSON.parse(JSON.parse(`"${quoted}"`) as string) as unknown
  return [value(found[1]), value(found[2])]
}
