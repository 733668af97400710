/**
 * Whatever an item's journal holds, its brief goes through either provider's own client into a request its API takes: read by the model server's rules, which know
 * nothing of briefs. And what a brief promises of itself: its size, its keys, its bytes.
 */
import { ACTION_STATUSES, briefTokens, buildBrief, estimateTokens, type Brief, type BriefFacts } from '@pawl/core'
import { generateText, jsonSchema, type ModelMessage, type ToolSet } from 'ai'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAnthropic } from './anthropic-read.ts'
import { anthropicWhole } from './anthropic-write.ts'
import type { ModelTurn } from './conversation.ts'
import { readOpenAi } from './openai-read.ts'
import { openAiWhole } from './openai-write.ts'
import { providers } from './providers.testsuite.ts'

/** Lone surrogates, blanks and line ends among it. */
const wild = fc.oneof(fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 40 }), fc.constantFrom('', ' ', '\n\t', 'I go on. '), fc.string({ minLength: 200, maxLength: 3_000 }))
/** What every object has is among them: a model may make it up. */
const name = fc.oneof(fc.constantFrom('send', 'mail.send', 'a b', ''), fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype)), fc.string({ maxLength: 80 }))
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), wild, fc.constant(undefined), fc.date(), fc.bigInt(), fc.constant(new Map([['a', new Set([1])]])))
const keys = Array.from({ length: 14 }, (_, i) => `k${i}:${['é', '😀', 'x/', '#('][i % 4]}${'y'.repeat(i * 3)}`)
const call = fc.record({ name, input: value, key: fc.option(fc.constantFrom(...keys), { freq: 8 }), refusal: fc.option(wild, { nil: undefined, freq: 8 }) })
  .map(({ refusal, ...rest }) => (refusal === undefined ? rest : { ...rest, refusal }))
const turn = fc.record({ text: wild, calls: fc.array(call, { maxLength: 4 }) })

const journal: fc.Arbitrary<BriefFacts> = fc.record({
  system: fc.option(wild), input: value, payload: value,
  turns: fc.array(turn, { maxLength: 14 }),
  actions: fc.uniqueArray(fc.record({ key: fc.constantFrom(...keys.slice(0, 11)), name, status: fc.constantFrom(...ACTION_STATUSES), args: value, result: value, error: fc.option(wild) }), { selector: (action) => action.key }),
  questions: fc.uniqueArray(fc.record({ key: fc.constantFrom(...keys.slice(11)), question: wild, status: fc.constantFrom('open', 'answered', 'void'), answer: value }), { selector: (question) => question.key }),
  tally: fc.option(fc.record({ total: fc.nat(), done: fc.nat(), failed: fc.nat(3), blocked: fc.nat(2), cancelled: fc.nat(1), failures: fc.array(fc.record({ reason: wild, count: fc.nat() }), { maxLength: 4 }) })),
}).map(({ system, input, payload, turns, actions, questions, tally }) => ({
  system, tally, actions, questions, turns: turns.map((each, i) => ({ n: i + 1, ...each })),
  run: { id: 'r', agent: 'a', agentVersion: '1', modelVersion: null, promptVersion: 'p', schemaVersion: 1, input }, item: { seq: 1, kind: 'work', key: 'item', payload },
}))
const budget = fc.constantFrom(300, 900, 3_000, 12_000)

const tools: ToolSet = { send: { inputSchema: jsonSchema({ type: 'object' }) } }
const answer = { text: 'Through.', calls: [] }
const meta = { id: 'x', model: 'm', inputTokens: 1, outputTokens: 1, streamUsage: false }

/** What arrives at the API after the provider's client has made its request of the brief. Throws `Refused` as the API would. */
async function sent(provider: (typeof providers)[number], brief: Brief): Promise<readonly ModelTurn[]> {
  let turns: readonly ModelTurn[] = []
  let refusal: unknown
  const fetched: typeof fetch = async (_url, init) => {
    try {
      turns = (provider.name === 'openai' ? readOpenAi : readAnthropic)(JSON.parse(init?.body as string)).conversation.turns
    } catch (error) {
      refusal = error
    }
    return Response.json(provider.name === 'openai' ? openAiWhole(answer, meta) : anthropicWhole(answer, meta))
  }
  // The messages are AI SDK messages as they are: this line is what holds the types together.
  const messages: ModelMessage[] = brief.messages
  await generateText({ model: provider.model('http://127.0.0.1:9/v1', { fetch: fetched }), system: brief.system, messages, tools, maxOutputTokens: 100, maxRetries: 0 })
  if (refusal !== undefined) throw refusal as Error
  return turns
}

const textOf = (brief: Brief): string => brief.messages.map((message) => (typeof message.content === 'string' ? message.content : message.content.map((part) =>
  (part.type === 'tool-result' ? part.output.value : '')).join('\n'))).join('\n')

describe.each(providers)('$name', (provider) => {
  test('any journal makes a request its API takes, each call shown with the one result that follows it', async () => {
    await fc.assert(fc.asyncProperty(journal, budget, async (facts, tokens) => {
      const brief = buildBrief(facts, { tokens })
      const turns = await sent(provider, brief)
      const calls = turns.flatMap((each) => (each.role === 'assistant' ? each.calls : [])).length
      const shown = facts.turns.slice(brief.turnsDigested).reduce((sum, each) => sum + each.calls.length, 0)
      expect({ calls, last: turns.at(-1)?.role }).toEqual({ calls: shown, last: 'user' })
    }), { numRuns: 100 })
  })
})

test('the key of every action and question of the item is there, however small the budget', () => {
  fc.assert(fc.property(journal, budget, (facts, tokens) => {
    const text = textOf(buildBrief(facts, { tokens }))
    for (const { key } of [...facts.actions, ...facts.questions]) expect(text).toMatch(new RegExp(`key ${key.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}( ·|\\])`))
  }), { numRuns: 300 })
})

test('a brief is within its budget, or says that it is not; and says so only where keys and shortest lines do not fit', () => {
  fc.assert(fc.property(journal, fc.integer({ min: 100, max: 12_000 }), (facts, tokens) => {
    const brief = buildBrief(facts, { tokens })
    expect(brief.tokens).toBe(briefTokens(brief))
    expect(brief.isOver).toBe(brief.tokens > tokens)
    const least = estimateTokens(brief.system) + 500 + facts.actions.reduce((sum, action) => sum + estimateTokens(JSON.stringify(action.name + action.key)) + 12, 0)
      + facts.questions.reduce((sum, question) => sum + estimateTokens(JSON.stringify(question.key)) + 150, 0)
    if (tokens > least * 1.5) expect(brief.isOver).toBe(false)
  }), { numRuns: 300 })
})

test('the same facts make the same bytes', () => {
  fc.assert(fc.property(journal, budget, (facts, tokens) => {
    expect(JSON.stringify(buildBrief(structuredClone(facts), { tokens }))).toBe(JSON.stringify(buildBrief(facts, { tokens })))
  }), { numRuns: 60 })
})
