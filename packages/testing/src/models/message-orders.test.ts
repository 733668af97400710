/** What each API refuses, sent as its wire has it: no client in between that would mend it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startModelServer, type ModelServer } from './model-server.ts'

let server: ModelServer
beforeAll(async () => { server = await startModelServer({ decide: () => ({ text: 'Fine.' }) }) })
afterAll(() => server.close())

const answer = async (path: string, body: unknown): Promise<{ status: number; body: { type?: string; error?: { type: string; message: string } } }> => {
  const response = await fetch(server.url + path, { method: 'POST', headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }, body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() as never }
}

const user = { role: 'user', content: 'Go.' }

describe('chat completions', () => {
  const call = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'send', arguments: '{}' } })) })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
  const ask = (messages: unknown[]) => answer('/chat/completions', { model: 'm', messages })

  test.each([
    ['a call and its answer', [user, call('a'), result('a')]],
    ['two calls, answered in another order', [user, call('a', 'b'), result('b'), result('a'), user]],
    ['the same id in two turns', [user, call('a'), result('a'), call('a'), result('a')]],
    ['a system message and two of the user', [{ role: 'system', content: 'S' }, user, user]],
  ])('takes %s', async (_, messages) => { expect((await ask(messages)).status).toBe(200) })

  test.each([
    ['no messages', [], /messages/],
    ['a call without an answer', [user, call('a')], /a$/],
    ['a call answered only after another message', [user, call('a'), user, result('a')], /right after/],
    ['one of two calls without an answer', [user, call('a', 'b'), result('a'), user], /: b$/],
    ['an answer to no call', [user, result('a')], /must follow/],
    ['an answer to a call of an earlier turn', [user, call('a'), result('a'), user, result('a')], /must follow/],
    ['an answer to an unknown call', [user, call('a'), result('x')], /no call x/],
    ['two answers to one call', [user, call('a'), result('a'), result('a')], /second answer/],
    ['two calls of one id', [user, call('a', 'a'), result('a')], /one id/],
    ['an assistant message with nothing in it', [user, { role: 'assistant', content: null }], /needs content/],
    ['an empty list of calls', [user, { role: 'assistant', content: 'x', tool_calls: [] }], /must not be empty/],
    ['an id longer than 40', [user, call('a'.repeat(41)), result('a'.repeat(41))], /tool_calls/],
    ['a tool name with a dot', [user, { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'mail.send', arguments: '{}' } }] }, result('a')], /name/],
    ['arguments that are no object', [user, { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'send', arguments: '[' } }] }, result('a')], /arguments/],
  ])('refuses %s', async (_, messages, why) => {
    const refused = await ask(messages)
    expect(refused).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } })
    expect(refused.body.error?.message).toMatch(why)
  })
})

describe('messages', () => {
  const use = (...ids: string[]) => ({ role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'send', input: {} })) })
  const result = (...ids: string[]) => ({ role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })) })
  const tools = [{ name: 'send', input_schema: { type: 'object' } }]
  const ask = (messages: unknown[], more: object = {}) => answer('/messages', { model: 'm', max_tokens: 10, messages, tools, ...more })
  const text = (words: string) => ({ type: 'text', text: words })

  test.each([
    ['a use and its result', [user, use('a'), result('a')]],
    ['two uses, results in two user messages in a row', [user, use('a', 'b'), result('b'), result('a')]],
    ['results, then text', [user, use('a'), result('a'), user]],
    ['an answer begun for the assistant', [user, { role: 'assistant', content: 'It is' }]],
  ])('takes %s', async (_, messages) => { expect((await ask(messages)).status).toBe(200) })

  test.each([
    ['no messages', [], /messages/],
    ['an assistant\'s message first', [{ role: 'assistant', content: 'Hi' }, user], /first message/],
    ['a use without its result', [user, use('a')], /without its tool_result/],
    ['a use whose result comes one message later', [user, use('a'), user, use('b'), result('a', 'b')], /without its tool_result/],
    ['one of two uses without a result', [user, use('a', 'b'), result('a')], /: b$/],
    ['a result of nothing', [user, result('a')], /no tool_use a/],
    ['a result of an unknown use', [user, use('a'), result('a', 'x')], /no tool_use x/],
    ['two results of one use', [user, use('a'), result('a', 'a')], /second tool_result/],
    ['one id in two turns', [user, use('a'), result('a'), use('a'), result('a')], /unique/],
    ['text before a result', [user, use('a'), { role: 'user', content: [text('x'), { type: 'tool_result', tool_use_id: 'a' }] }], /before other content/],
    ['an empty text', [user, { role: 'assistant', content: [text('')] }, user], /white space/],
    ['an empty message', [user, { role: 'assistant', content: [] }, user], /not be empty/],
    ['an end of the assistant\'s with white space', [user, { role: 'assistant', content: 'It is ' }], /end with white space/],
    ['a use by the user', [{ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'send', input: {} }] }], /assistant message/],
    ['an id with a colon', [user, use('a:b'), result('a:b')], /id/],
    ['an input that is no object', [user, { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'send', input: 'x' }] }, result('a')], /input/],
  ])('refuses %s', async (_, messages, why) => {
    const refused = await ask(messages)
    expect(refused).toMatchObject({ status: 400, body: { type: 'error', error: { type: 'invalid_request_error' } } })
    expect(refused.body.error?.message).toMatch(why)
  })

  test('refuses uses where no tools are defined, no max_tokens, and two tools of one name', async () => {
    expect((await ask([user, use('a'), result('a')], { tools: [] })).body.error?.message).toMatch(/must be defined/)
    expect((await answer('/messages', { model: 'm', messages: [user] })).body.error?.message).toMatch(/max_tokens/)
    expect((await ask([user], { tools: [...tools, ...tools] })).body.error?.message).toMatch(/one name/)
  })
})
