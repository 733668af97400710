/** MCP servers over stdio: listed, called, killed in mid-call, started again. Published servers and real processes. */
import { NotApplied } from '@pawl/core'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rejection, testContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { isAlive, Lying, published, until } from './fixtures/servers.testsuite.ts'
import { fromMcp, McpServer, mcpText } from './index.ts'

const lying = new Lying()
const opened: McpServer[] = []
const open = (...options: ConstructorParameters<typeof McpServer>): McpServer => {
  const server = new McpServer(...options)
  opened.push(server)
  return server
}
const silent = { report: () => {} }
const lies = open({ name: 'lying', ...lying.place })
const take = async () => await fromMcp(lies, {
  ...silent,
  classify: {
    delete_all: { effect: 'non-idempotent', approval: 'never' }, hang: { effect: 'non-idempotent', approval: 'never' }, refuse: { effect: 'non-idempotent' },
    answer_late: { effect: 'non-idempotent' }, die: { effect: 'non-idempotent' }, look: { effect: 'read' }, change: { effect: 'read' },
  },
})
let tools: Awaited<ReturnType<typeof take>>

beforeAll(async () => { tools = await take() })
afterAll(async () => {
  for (const server of opened) await server.close()
  lying.remove()
})

test('server-filesystem: listed, read and written through; an input error names the field, and what was written is there', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-mcp-fs-')))
  writeFileSync(join(root, 'a.txt'), 'hello')
  const files = await fromMcp(open({ name: 'files', ...published('server-filesystem', root) }), {
    ...silent, classify: { read_text_file: { effect: 'read' }, write_file: { effect: 'idempotent', precondition: true, approval: 'never' } },
  })
  expect(mcpText(await files.read_text_file.execute({ path: join(root, 'a.txt') }, testContext()))).toBe('hello')
  await files.write_file.execute({ path: join(root, 'b.txt'), content: 'written' }, testContext())
  expect(readFileSync(join(root, 'b.txt'), 'utf8')).toBe('written')
  expect(files.write_file.inputSchema.safeParse({ path: 7, content: 'x' }).error?.issues.map((issue) => issue.path.join('.'))).toEqual(['path'])
  expect(files.write_file.name).toBe('files.write_file')
  rmSync(root, { recursive: true })
})

test('server-memory: structured answers are kept as the server gave them, and fit the schema it declares', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-mcp-memory-'))
  const memory = await fromMcp(open({ name: 'memory', ...published('server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } }), {
    ...silent, classify: { create_entities: { effect: 'non-idempotent', approval: 'never' }, read_graph: { effect: 'read' } },
  })
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote a program'] }]
  await memory.create_entities.execute({ entities }, testContext())
  const graph = await memory.read_graph.execute({}, testContext())
  expect(graph.structuredContent).toMatchObject({ entities })
  expect(memory.read_graph.outputSchema.safeParse(graph).success).toBe(true)
  expect(memory.read_graph.outputSchema.safeParse({ ...graph, structuredContent: { entities: 7 } }).success).toBe(false)
  rmSync(folder, { recursive: true })
})

test('server-everything: killed with -9 while a long operation runs: the call is unsettled, and the next call has a new process', async () => {
  const server = open({ name: 'everything', ...published('server-everything') })
  const everything = await fromMcp(server, { ...silent, classify: { 'trigger-long-running-operation': { effect: 'non-idempotent' }, 'get-sum': { effect: 'read' } } })
  const passed = deferred()
  const running = rejection(everything['trigger-long-running-operation'].execute({ duration: 60, steps: 2 }, testContext('k', { guard: () => passed.resolve() })))
  await passed.promise
  const before = server.pid as number
  process.kill(-before, 'SIGKILL')
  const lost = await running
  expect(lost).not.toBeInstanceOf(NotApplied)
  expect(String(lost)).toMatch(/MCP server "everything".*was sent and has no usable answer.*not sent again/)
  expect(mcpText(await everything['get-sum'].execute({ a: 2, b: 3 }, testContext()))).toContain('5')
  expect(server.pid).not.toBe(before)
})

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => { resolve = done })
  return { promise, resolve }
}

test('a call whose server died under it was received once, by the one that died: nothing below the ledger sends it again', async () => {
  const died = await rejection(tools.die.execute({ target: 'once' }, testContext('key-1')))
  expect(died).not.toBeInstanceOf(NotApplied)
  expect(mcpText(await tools.look.execute({}, testContext()))).toContain('once')
  expect(lying.received('die', 'once')).toMatchObject([{ key: 'key-1' }])
})

test('a closed guard writes nothing, and says so with its own error', async () => {
  const context = testContext()
  context.closeGuard()
  expect(await rejection(tools.delete_all.execute({ target: 'guarded' }, context))).toBeInstanceOf(NotSent)
  await tools.look.execute({}, testContext())
  expect(lying.received('delete_all', 'guarded')).toEqual([])
})

test('a write goes on being listened to past its deadline; its late answer is an answer', async () => {
  const past = new AbortController()
  const late = tools.answer_late.execute({ target: '300' }, testContext('late', { signal: past.signal, deadline: new Date(Date.now() + 50) }))
  past.abort()
  expect(mcpText(await late)).toBe('late')
})

test('an error answer proves nothing, unless its classification says how to read it', async () => {
  const said = await rejection(tools.refuse.execute({ target: 'x' }, testContext()))
  expect(said).not.toBeInstanceOf(NotApplied)
  expect(String(said)).toMatch(/does not say whether anything was done: no such thing: x/)
  const reading = async (onError: 'not-applied' | 'result' | ((result: { content: readonly unknown[] }) => 'unknown')) =>
    (await fromMcp(lies, { ...silent, classify: { refuse: { effect: 'non-idempotent', onError } } })).refuse.execute({ target: 'x' }, testContext())
  expect(await rejection(reading('not-applied'))).toBeInstanceOf(NotApplied)
  expect(await reading('result')).toMatchObject({ isError: true })
  expect(await rejection(reading(() => 'unknown'))).not.toBeInstanceOf(NotApplied)
})

test('the key goes into the argument the operator names, and the agent neither sees nor sets it', async () => {
  const { delete_all } = await fromMcp(lies, { ...silent, classify: { delete_all: { effect: 'idempotent', keyArgument: 'requestId', approval: 'never' } } })
  await delete_all.execute({ target: 'keyed', requestId: 'made up' }, testContext('pawl-abc'))
  expect(lying.received('delete_all', 'keyed')).toMatchObject([{ key: 'pawl-abc' }])
})

test('a changed definition is another version; who still has the old one sends nothing, and says what to do', async () => {
  const before = tools.delete_all.version
  lying.says({ description: 'Shows even more.' })
  await lies.close()
  const error = await rejection(tools.delete_all.execute({ target: 'changed' }, testContext()))
  expect(String(error)).toMatch(/now describes "delete_all" differently.*Nothing was sent.*restart the workers/s)
  expect(lying.received('delete_all', 'changed')).toEqual([])
  expect((await take()).delete_all.version).not.toBe(before)
  lying.says({})
  await lies.close()
  expect((await take()).delete_all.version).toBe(before)
})

test('a tool that vanished is refused aloud, before anything is sent', async () => {
  lying.says({ hidden: ['delete_all'] })
  await lies.close()
  expect(String(await rejection(tools.delete_all.execute({ target: 'gone' }, testContext())))).toMatch(/has no tool "delete_all" any more. Nothing was sent. It has: .*look/)
  lying.says({})
  await lies.close()
})

test('a list that changes under a living connection is looked at again before the next call', async () => {
  await tools.change.execute({}, testContext())
  expect((await lies.definitions()).map(({ name }) => name)).toContain('added')
  await lies.close()
})

test('only reads may be called outside the ledger', async () => {
  await take()
  expect((await lies.read('look', {})).content).toHaveLength(1)
  expect(String(await rejection(lies.read('delete_all', { target: 'x' })))).toContain('not classified as a read')
})

test('closing ends the process and what it started', async () => {
  await tools.look.execute({}, testContext())
  const pid = lies.pid as number
  expect(isAlive(pid)).toBe(true)
  await lies.close()
  await until('the group is gone', () => !isAlive(-pid))
  expect(lies.pid).toBeUndefined()
})

test('a program that only loads a definition ends by itself, and its server with it', async () => {
  const built = new URL('../../dist/mcp/index.js', import.meta.url).href
  const script = `import { fromMcp, McpServer } from ${JSON.stringify(built)}
    const server = new McpServer(${JSON.stringify({ name: 'lying', ...lying.place })})
    await fromMcp(server, { classify: {} })
    console.log(server.pid)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 })
  expect(Number(stdout)).toBeGreaterThan(1)
  await until('the server is gone', () => !isAlive(-Number(stdout)))
})

test.for([
  { what: 'a program that is not there', options: { command: 'no-such-program', args: ['--token=very-secret-token'] }, says: /MCP server "far" \(stdio, no-such-program\) cannot be reached.*not found.*Check that the command is installed/s },
  { what: 'a program that says its secrets and ends', options: { command: process.execPath, args: ['-e', 'console.error("bad token " + process.env.TOKEN + process.argv.at(-1)); process.exit(1)', '--', '--api-key', 'very-secret-token'], env: { TOKEN: 'also-very-secret-token' } }, says: /the server said last: bad token \*\*\*\*\*\*/ },
  { what: 'a program that never shakes hands', options: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], connectTimeout: 300 }, says: /within 300 ms|timed out/ },
  { what: 'an address where nobody listens', options: { url: 'http://user:very-secret-token@127.0.0.1:9/mcp?key=very-secret-token', headers: { authorization: 'Bearer very-secret-token' } }, says: /MCP server "far" \(http:\/\/127.0.0.1:9\/mcp\) cannot be reached.*Check that the server runs there/s },
])('$what: the error says which server and what to do, and no secret', async ({ options, says }) => {
  const error = await rejection(fromMcp({ name: 'far', ...options }, { classify: {} }))
  expect(error).toMatchObject({ code: 'MCP_UNREACHABLE' })
  expect(String(error)).toMatch(says)
  expect(JSON.stringify([String(error), error])).not.toContain('very-secret-token')
})
