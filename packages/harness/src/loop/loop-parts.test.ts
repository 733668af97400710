import { APICallError } from '@ai-sdk/provider'
import { PawlError } from '@pawl/core'
import { expect, test } from 'vitest'
import { costMicrosOf, findExceeded } from './budget.ts'
import { inALog } from './decide.ts'
import { decodeDecision, encodeDecision, readAnswer, refusedInARow, type ModelAnswer } from './decision.ts'
import { checkLoop } from './options.ts'
import { readStream, type TurnDelta } from './stream.ts'
import { thinkingModel } from './thinking.testsuite.ts'

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }
const answer = (content: ModelAnswer['content']): ModelAnswer => ({ content, usage, finishReason: { unified: 'tool-calls', raw: undefined } })

test('a decision keeps words, thoughts and calls with what the provider wants back, and is the same after the ledger', () => {
  const said = readAnswer(answer([
    { type: 'reasoning', text: 'hm', providerMetadata: { p: { signature: 's' } } }, { type: 'text', text: 'I ' }, { type: 'text', text: 'go.' },
    { type: 'tool-call', toolCallId: 'x', toolName: 'a', input: '{"n":1}', providerMetadata: { p: { id: 1 } } }, { type: 'tool-call', toolCallId: 'y', toolName: 'b', input: '' },
    { type: 'tool-call', toolCallId: 'z', toolName: 'c', input: '[1]' },
  ]))
  expect(said).toMatchObject({ text: 'I go.', finishReason: 'tool-calls', reasoning: [{ text: 'hm', providerOptions: { p: { signature: 's' } } }] })
  expect(said.asked.map((call) => [call.name, call.input])).toEqual([['a', { n: 1 }], ['b', {}], ['c', undefined]])
  const decision = { text: said.text, finishReason: said.finishReason, calls: [{ name: 'a', input: { n: 1, at: new Date(0) }, key: 'k' }, { name: 'c', input: '[1]', key: null, refusal: 'no' }] }
  expect(decodeDecision(1, encodeDecision(decision))).toEqual(decision)
  expect(() => decodeDecision(3, '{"calls":1}')).toThrow(/Turn 3/)
})

test('a tool the provider ran by itself is refused: no ledger saw it', () => {
  expect(() => readAnswer(answer([{ type: 'tool-call', toolCallId: 'x', toolName: 'web_search', input: '{}', providerExecuted: true }]))).toThrow(/outside the ledger/)
})

test('refused turns count in a row, up to the last one', () => {
  const turn = (refusal?: string) => ({ text: '', finishReason: 'stop', calls: [{ name: 'a', input: {}, key: null, ...(refusal === undefined ? {} : { refusal }) }] })
  expect([refusedInARow([]), refusedInARow([turn('x'), turn()]), refusedInARow([turn(), turn('x'), turn('x')]), refusedInARow([turn('x')])]).toEqual([0, 0, 2, 1])
})

test('a budget is exceeded when nothing of it is left; cost is micros of what a million tokens cost, cached ones apart', () => {
  const spent = { turns: 2, tokens: 900, costMicros: 1_500_000, wallMs: 10 }
  expect(findExceeded({}, spent)).toBeUndefined()
  expect(findExceeded({ turns: 3, tokens: 901, cost: 1.6, wallMs: 11 }, spent)).toBeUndefined()
  expect(findExceeded({ turns: 2 }, spent)).toEqual({ what: 'turns', limit: 2, used: 2 })
  expect(findExceeded({ cost: 1.5 }, spent)).toEqual({ what: 'cost', limit: 1.5, used: 1.5 })
  expect(costMicrosOf({ input: 3, output: 15, cachedInput: 0.3 }, { input: 1_000, cachedInput: 400, output: 10 })).toBe(Math.ceil(600 * 3 + 400 * 0.3 + 150))
  expect(costMicrosOf(undefined, { input: 1_000, cachedInput: 0, output: 10 })).toBe(0)
})

test('a stream is the answer it would have been, told piece by piece; without its end it is none', async () => {
  const { model } = thinkingModel(() => ({ text: 'one two three', calls: [{ tool: 'a', input: {} }] }))
  const told: TurnDelta[] = []
  const { stream } = await model.doStream({ prompt: [] })
  const read = await readStream(stream, (delta) => told.push(delta))
  expect(read.content.map((part) => part.type)).toEqual(['text', 'tool-call'])
  expect(told.flatMap((delta) => (delta.kind === 'text' ? [delta.text] : [])).join('')).toBe('one two three')
  const { model: cut } = thinkingModel(() => ({ text: 'half', finishReason: 'other' }))
  await expect(readStream((await cut.doStream({ prompt: [] })).stream, () => {})).rejects.toThrow(/ended before/)
})

test('a log says what kind of no the model gave, and nothing of what its provider wrote', () => {
  const quoting = (statusCode?: number): APICallError => new APICallError({ message: 'Incorrect API key: sk-canary', url: 'http://model/?key=sk-canary', requestBodyValues: {}, ...(statusCode === undefined ? {} : { statusCode }) })
  expect([quoting(401), quoting(), new TypeError('sk-canary'), new PawlError('MODEL_REFUSED', 'sk-canary', 'fail'), 'sk-canary'].map(inALog)).toEqual(['it answered 401', 'no answer', 'TypeError', 'MODEL_REFUSED', 'no error'])
})

test('options that cannot work are refused when the program starts, by name', () => {
  const { model } = thinkingModel(() => ({}))
  const wrong: [string, object][] = [
    ['model', { model: 'gpt' }], ['specification v2; .* ai 6 \\(v3\\) and ai 7 \\(v4\\)', { model: { specificationVersion: 'v2', doGenerate: () => {} } }], ['modelVersion', { model: () => model }], ['system', { system: ' ' }], ['maxTurns', { maxTurns: 0 }], ['contextTokens', { contextTokens: 3 }], ['prices', { budget: { cost: 1 } }],
  ]
  for (const [named, options] of wrong) expect(() => checkLoop({ model, system: 's', ...options })).toThrow(new RegExp(named))
})
