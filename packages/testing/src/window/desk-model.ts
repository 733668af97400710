/** A model that handles a complaint as written here: thorough, in four turns; or confused, which words its calls wrongly three times before it gets one right. */
import { newId } from '@pawl/core'
import type { LoopOptions } from '@pawl/harness'

type Model = Exclude<LoopOptions['model'], () => unknown>
interface Step { readonly text: string; readonly tool?: string; readonly input?: object }

const usage = { inputTokens: { total: 900, noCache: 900, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 60, text: 60, reasoning: 0 } }

function stepsOf(order: string, mood: string): readonly Step[] {
  const find: Step = { text: `I look up ${order} first.`, tool: 'findOrder', input: { order } }
  if (mood === 'confused') {
    const wrong: Step = { text: 'The customer is owed money.', tool: 'refund', input: { order, cents: 'fifteen euros' } }
    return [wrong, wrong, wrong, { text: 'In cents, then.', tool: 'refund', input: { order, cents: 1_500 } }, { text: `Order ${order} is refunded.` }]
  }
  return [
    find, { text: 'It came broken: 15.00 is owed.', tool: 'refund', input: { order, cents: 1_500 } },
    { text: 'Now the customer is told.', tool: 'mail', input: { to: `${order}@example.org`, template: 'refunded', body: 'We have refunded 15.00.' } }, { text: `Order ${order} is refunded, and the customer was told.` },
  ]
}

export function deskModel(): Model {
  return {
    specificationVersion: 'v3', provider: 'desk', modelId: 'desk-1', supportedUrls: {},
    doStream: () => Promise.reject(new Error('the desk’s model does not stream')),
    doGenerate({ prompt }) {
      const text = JSON.stringify(prompt.filter((message) => message.role === 'user'))
      const [, order = '', mood = ''] = /\\+"order\\+":\\+"([^"\\]+)\\+",\\+"mood\\+":\\+"([a-z]+)/.exec(text) ?? []
      const step = stepsOf(order, mood)[prompt.filter((message) => message.role === 'assistant').length] ?? { text: 'Nothing is left to do.' }
      const call = step.tool === undefined ? [] : [{ type: 'tool-call' as const, toolCallId: newId(), toolName: step.tool, input: JSON.stringify(step.input) }]
      return Promise.resolve({ content: [{ type: 'text' as const, text: step.text }, ...call], finishReason: { unified: call.length > 0 ? 'tool-calls' as const : 'stop' as const, raw: undefined }, usage, warnings: [] })
    },
  }
}
