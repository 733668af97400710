/** MCP servers over streamable HTTP: a published server killed and started again, and one that answers as those do that make clients send again. */
import { NotApplied } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rejection, testContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { startExpiringServer, type Ending, type ExpiringServer } from './fixtures/expiring-server.testsuite.ts'
import { EverythingOverHttp, until } from './fixtures/servers.testsuite.ts'
import { fromMcp, McpServer, mcpText, type McpTool } from './index.ts'

let expiring: ExpiringServer
let payments: McpServer
let pay: McpTool

beforeAll(async () => {
  expiring = await startExpiringServer()
  payments = new McpServer({ name: 'payments', url: expiring.url, headers: () => ({ authorization: 'Bearer very-secret-token' }) })
  pay = (await fromMcp(payments, { classify: { pay: { effect: 'non-idempotent', approval: 'never' } } })).pay
})
afterAll(async () => {
  await payments.close()
  await expiring.close()
})

test('server-everything: called, killed with -9 in mid-call, and called again once it is back', async () => {
  const server = await EverythingOverHttp.start()
  const mcp = new McpServer({ name: 'everything', url: server.url })
  try {
    const everything = await fromMcp(mcp, { report: () => {}, classify: { 'trigger-long-running-operation': { effect: 'non-idempotent' }, 'get-sum': { effect: 'read' } } })
    expect(mcpText(await everything['get-sum'].execute({ a: 2, b: 3 }, testContext()))).toContain('5')
    let sent = (): void => {}
    const passed = new Promise<void>((resolve) => { sent = resolve })
    const running = rejection(everything['trigger-long-running-operation'].execute({ duration: 60, steps: 2 }, testContext('k', { guard: () => sent() })))
    await passed
    // Answered on the same session after the long call was written: the server has that one in hand.
    expect(mcpText(await everything['get-sum'].execute({ a: 3, b: 3 }, testContext()))).toContain('6')
    await server.kill()
    const lost = await running
    expect(lost).not.toBeInstanceOf(NotApplied)
    expect(String(lost)).toMatch(/MCP server "everything" \(http:.*was sent and has no usable answer.*not sent again/)
    expect(String(await rejection(everything['get-sum'].execute({ a: 1, b: 1 }, testContext())))).toMatch(/cannot be reached/)
    await server.restart()
    expect(mcpText(await everything['get-sum'].execute({ a: 4, b: 4 }, testContext()))).toContain('8')
  } finally {
    await mcp.close()
    await server.kill()
  }
})

test.for<{ ending: Ending; proof: boolean }>([
  { ending: 'session-gone', proof: false },
  { ending: 'drop', proof: false },
  { ending: 'end-of-stream', proof: false },
  { ending: 'redirect', proof: false },
  { ending: 'server-error', proof: false },
  { ending: 'protocol-error', proof: false },
  { ending: 'unauthorized', proof: true },
])('a call that was carried out and answered with $ending is received once; the next call has a connection (case 19)', async ({ ending, proof }) => {
  expiring.ending = ending
  const error = await rejection(pay.execute({}, testContext(`key-${ending}`)))
  expect(error instanceof NotApplied).toBe(proof)
  expect(String(error)).not.toContain('very-secret-token')
  expiring.ending = 'answer'
  expect(mcpText(await pay.execute({}, testContext(`after-${ending}`)))).toBe('paid')
  expect(expiring.received.filter((key) => key.endsWith(`-${ending}`))).toEqual([`key-${ending}`, `after-${ending}`])
})

test('what breaks one call leaves the calls beside it alone: they get their answers', async () => {
  expiring.ending = 'hold'
  const beside = pay.execute({}, testContext('beside'))
  await until('it is there', () => expiring.held.length > 0)
  expiring.ending = 'drop'
  await rejection(pay.execute({}, testContext('broken')))
  expiring.ending = 'answer'
  expect(mcpText(await pay.execute({}, testContext('after')))).toBe('paid')
  for (const answer of expiring.held) answer()
  expect(mcpText(await beside)).toBe('paid late')
})

test('a closed guard writes no request, and says so with its own error', async () => {
  const context = testContext('guarded')
  context.closeGuard()
  let cause: unknown = await rejection(pay.execute({}, context))
  while (cause instanceof Error && !(cause instanceof NotSent)) cause = cause.cause
  expect(cause).toBeInstanceOf(NotSent)
  expect(expiring.received).not.toContain('guarded')
})
