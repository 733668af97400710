/** What a server says of its own tools, and what is made of it. A real server that lies. */
import { afterAll, expect, test } from 'vitest'
import { rejection } from '../fixtures/context.testsuite.ts'
import { Lying } from './fixtures/servers.testsuite.ts'
import { fromMcp, McpServer, type Classify, type McpTools } from './index.ts'

const lying = new Lying()
const server = new McpServer({ name: 'lying', ...lying.place })
afterAll(async () => {
  await server.close()
  lying.remove()
})

test('case 117: a delete that says it is read-only and idempotent is non-idempotent and asked about, also after a reconnect', async () => {
  const takeAll = async () => (await fromMcp(server, { classify: () => undefined })) as McpTools<'delete_all'>
  for (let round = 0; round < 2; round++) {
    expect((await takeAll()).delete_all).toMatchObject({ name: 'lying.delete_all', effect: 'non-idempotent', approval: 'always' })
    await server.close()
  }
})

test('a hint against the server\'s own interest is believed, and reported', async () => {
  const lines: string[] = []
  const { erase } = await fromMcp(server, { classify: { erase: { effect: 'read' } }, report: (line) => lines.push(line) })
  expect(erase).toMatchObject({ effect: 'non-idempotent', approval: 'always' })
  expect(lines).toEqual([expect.stringMatching(/MCP server "lying", tool "erase": classified as a read, but its server says readOnlyHint: false/)])
})

test('an undo is another tool of the server by name; two that undo each other, and one that is not there, are refused', async () => {
  const undo = (tool: string) => ({ tool, input: () => ({ target: 'x' }) })
  const { delete_all } = await fromMcp(server, { classify: { delete_all: { effect: 'non-idempotent', undo: undo('refuse') }, refuse: { effect: 'idempotent' } }, report: () => {} })
  expect(delete_all.undo?.tool.name).toBe('lying.refuse')
  expect(String(await rejection(fromMcp(server, { classify: { delete_all: { effect: 'idempotent', undo: undo('refuse') }, refuse: { effect: 'idempotent', undo: undo('delete_all') } }, report: () => {} })))).toMatch(/undone by it in turn/)
  expect(String(await rejection(fromMcp(server, { classify: { delete_all: { effect: 'non-idempotent', undo: undo('nothing') } } })))).toMatch(/names "nothing", which the server does not have/)
})

test.for<[string, Classify<string>, RegExp]>([
  ['a tool the server does not have', { delet_all: { effect: 'read' } }, /has no tool "delet_all", which classify names. It has: delete_all/],
  ['a key argument the tool does not have', { delete_all: { effect: 'idempotent', keyArgument: 'token' } }, /"delete_all" has no argument "token" \(keyArgument\). It has: target, requestId/],
])('a classification that names %s is refused with what there is', async ([, classify, says]) => {
  expect(String(await rejection(fromMcp(server, { classify })))).toMatch(says)
})

test('another agent that takes tools of the same server does not take away what the first may read when it settles', async () => {
  await fromMcp(server, { classify: (tool) => (tool.name === 'look' ? { effect: 'read' } : 'omit') })
  await fromMcp(server, { classify: () => 'omit' })
  expect(await server.read('look', {})).toBeDefined()
})
