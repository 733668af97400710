import { APICallError, generateText, jsonSchema, streamText, type ModelMessage, type ToolSet } from 'ai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Policy } from './conversation.ts'
import { repeatedDecisions } from './model-log.ts'
import { startModelServer, type ModelServer, type ModelServerOptions } from './model-server.ts'
import { providers } from './providers.testsuite.ts'

const servers: ModelServer[] = []
async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options)
  servers.push(server)
  return server
}
afterEach(async () => { await Promise.all(servers.splice(0).map((server) => server.close())) })

/** Two mails at once, then through. */
const twoMails: Policy = ({ turns }) => turns.some((turn) => turn.role === 'tool')
  ? { text: 'Both are sent.', label: 'end' }
  : { text: 'I write to both.', calls: [{ name: 'send', input: { to: 'ann', body: 'Hello Ann' } }, { name: 'send', input: { to: 'bob', body: 'Hello Bob' } }], reword: ['body'], label: 'both' }

const tools: ToolSet = { send: { description: 'Sends.', inputSchema: jsonSchema({ type: 'object', properties: { to: { type: 'string' }, body: { type: 'string' } } }) } }
const asked: ModelMessage[] = [{ role: 'user', content: 'Write to Ann and Bob.' }]

describe.each(providers)('$name', ({ model, name, path, headers }) => {
  test('the provider\'s own client reads parallel calls and usage, and gives the results back in order', async () => {
    const { url, log } = await serve({ decide: twoMails })
    const first = await generateText({ model: model(url), system: 'Be brief.', messages: asked, tools, maxRetries: 0 })
    expect(first.finishReason).toBe('tool-calls')
    expect(first.toolCalls.map((call) => (call.input as { to: string }).to).toSorted()).toEqual(['ann', 'bob'])
    expect(first.usage.inputTokens).toBeGreaterThan(10)
    const results: ModelMessage = { role: 'tool', content: first.toolCalls.map((call) => ({ type: 'tool-result', toolCallId: call.toolCallId, toolName: call.toolName, output: { type: 'json', value: { ok: true } } })) }
    const second = await generateText({ model: model(url), messages: [...asked, ...first.response.messages, results], tools, maxRetries: 0 })
    expect(second).toMatchObject({ finishReason: 'stop', toolCalls: [] })
    expect(second.text).toContain('Both are sent.')
    expect(log()).toMatchObject([{ n: 1, api: name, stream: false, outcome: 'answered', label: 'both' }, { n: 2, outcome: 'answered', label: 'end' }])
  })

  test('a stream carries the same decision: text, parallel calls, usage', async () => {
    const { url } = await serve({ decide: twoMails })
    const stream = streamText({ model: model(url), messages: asked, tools, maxRetries: 0 })
    const seen = new Set<string>()
    for await (const part of stream.fullStream) seen.add(part.type)
    expect([...seen]).toEqual(expect.arrayContaining(['text-delta', 'tool-input-delta', 'tool-call', 'finish']))
    expect((await stream.toolCalls).map((call) => (call.input as { to: string }).to).toSorted()).toEqual(['ann', 'bob'])
    expect((await stream.usage).outputTokens).toBeGreaterThan(1)
    expect(await stream.text).toContain('I write to both.')
  })

  test('asked the same three times, it means the same in other words, with other ids', async () => {
    const { url, log } = await serve({ decide: twoMails })
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await generateText({ model: model(url), messages: asked, tools, maxRetries: 0 }))
    expect(new Set(answers.map((answer) => answer.toolCalls.map((call) => call.toolCallId).join())).size).toBe(3)
    expect(new Set(answers.map((answer) => JSON.stringify(answer.toolCalls.map((call) => call.input)))).size).toBe(3)
    expect(new Set(answers.map((answer) => (answer.toolCalls[0]?.input as { to?: string } | undefined)?.to)).size).toBe(2)
    expect(new Set(log().map((entry) => entry.digest)).size).toBe(1)
    expect(repeatedDecisions(log())).toEqual([{ label: 'both', times: 3 }])
  })

  test('faults come in the order they were programmed, as the client sees them', async () => {
    const { url, fail, log } = await serve({ decide: twoMails })
    const ask = () => generateText({ model: model(url), messages: asked, tools, maxRetries: 0 })
    fail({ kind: 'status', status: 500 }, { kind: 'status', status: 429, retryAfterSeconds: 7 }, { kind: 'drop', when: 'before' }, { kind: 'drop', when: 'after' }, { kind: 'truncate', events: 2 }, { kind: 'slow', everyMs: 5 })
    await expect(ask()).rejects.toMatchObject({ statusCode: 500, isRetryable: true })
    await expect(ask()).rejects.toSatisfy((error) => APICallError.isInstance(error) && error.statusCode === 429 && error.responseHeaders?.['retry-after'] === '7')
    for (let i = 0; i < 3; i++) await expect(ask()).rejects.toThrow()
    expect((await ask()).toolCalls).toHaveLength(2)
    expect(log().map((entry) => entry.outcome)).toEqual(['status 500', 'status 429', 'dropped before', 'answered', 'answered', 'answered'])
    expect(log().map((entry) => entry.fault)).toEqual([null, null, null, 'drop', 'truncate', 'slow'])
  })

  test('a truncated stream is an error of the client, not a short answer', async () => {
    const { url, fail } = await serve({ decide: twoMails })
    fail({ kind: 'truncate', events: 4 })
    const seen: string[] = []
    const read = async (): Promise<void> => {
      for await (const part of streamText({ model: model(url), messages: asked, tools, maxRetries: 0, onError: () => undefined }).fullStream) seen.push(part.type)
    }
    const thrown = await read().then(() => false, () => true)
    expect(thrown || seen.includes('error')).toBe(true)
    expect(seen).not.toContain('tool-call')
    expect(seen).not.toContain('finish')
  })

  test('a stream that ends cleanly half-way has no finish reason a loop may take for a decision', async () => {
    const { url, fail } = await serve({ decide: twoMails })
    fail({ kind: 'truncate', events: 4, isClean: true })
    const seen: string[] = []
    let reason: string | undefined
    for await (const part of streamText({ model: model(url), messages: asked, tools, maxRetries: 0, onError: () => undefined }).fullStream) {
      seen.push(part.type)
      if (part.type === 'finish') reason = part.finishReason
    }
    expect(seen).not.toContain('tool-call')
    // `ai` 7 says interrupted.
    expect(['error', 'other', 'interrupted']).toContain(reason)
  })

  test('a wrong key is refused, and a body that is none', async () => {
    const { url, log } = await serve({ decide: twoMails, apiKey: 'right' })
    await expect(generateText({ model: model(url), messages: asked, maxRetries: 0 })).rejects.toMatchObject({ statusCode: 401 })
    expect((await generateText({ model: model(url, { apiKey: 'right' }), messages: asked, tools, maxRetries: 0 })).toolCalls).toHaveLength(2)
    const keys = { authorization: 'Bearer right', 'x-api-key': 'right' }
    expect((await fetch(url + path, { method: 'POST', headers: { ...headers, ...keys }, body: '{' })).status).toBe(400)
    expect(log().map((entry) => entry.outcome)).toEqual(['refused', 'answered', 'refused'])
  })
})

test('a decision is in the log file before its answer is sent, and a new server counts on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-model-'))
  try {
    const logFile = join(folder, 'log.jsonl')
    const [openai] = providers
    if (openai === undefined) throw new Error('no provider')
    const first = await serve({ decide: twoMails, logFile })
    first.fail({ kind: 'drop', when: 'after' })
    await expect(generateText({ model: openai.model(first.url), messages: asked, tools, maxRetries: 0 })).rejects.toThrow()
    await first.close()
    const second = await serve({ decide: twoMails, logFile })
    await generateText({ model: openai.model(second.url), messages: asked, tools, maxRetries: 0 })
    expect(second.log()).toMatchObject([{ n: 1, label: 'both', fault: 'drop' }, { n: 2, label: 'both', fault: null }])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
