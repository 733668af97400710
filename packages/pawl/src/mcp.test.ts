/** `pawl mcp` as other agents meet it: the published client, over stdio, against the real command; and what it refuses to whom. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openProducer, sha256 } from '../../../apps/producer/src/producer.testsuite.ts'
import { pawlArgs } from './cli/command.testsuite.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
let looking: Served
let operating: Served
const clients: Client[] = []
beforeAll(async () => {
  world = await openWorld({ migrate: true })
  const served = Promise.all([serve([]), serve(['--allow', 'operate'])])
  await world.startFleet()
  ;[looking, operating] = await served
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await world.close()
})

interface Outcome {
  readonly isError: boolean
  readonly value: Record<string, unknown>
}

interface Served {
  readonly client: Client
  readonly pid: number
  readonly call: (name: string, args: Record<string, unknown>) => Promise<Outcome>
}

async function serve(args: readonly string[], env: Readonly<Record<string, string>> = world.env): Promise<Served> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [...pawlArgs, 'mcp', ...args], cwd: world.folder, env: { PATH: process.env['PATH'] ?? '', ...env }, stderr: 'inherit' })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport, { timeout: 60_000 })
  clients.push(client)
  return {
    client, pid: transport.pid ?? 0,
    call: async (name, given) => {
      const result = await client.callTool({ name, arguments: given })
      const [first] = result.content
      return { isError: result.isError === true, value: JSON.parse(first?.type === 'text' ? first.text : 'null') as Record<string, unknown> }
    },
  }
}

test('on a database it may only look unless it is allowed more: nothing that writes is listed, nor does it work when called by name', async () => {
  const { client, call } = looking
  const { tools } = await client.listTools()
  expect(tools.map((tool) => tool.name)).toEqual(['get_run', 'list_runs', 'list_items', 'get_action', 'watch', 'inbox'])
  expect(tools.every((tool) => tool.annotations?.readOnlyHint === true && tool.annotations.destructiveHint === false)).toBe(true)
  await expect(client.callTool({ name: 'start_run', arguments: { agent: 'notes', input: { lines: 1 }, idempotencyKey: 'k' } })).rejects.toThrow(/start_run/)
  expect(await world.ledger.query('select id from pawl.runs')).toEqual([])
  expect(await call('get_run', { run: 'nonsense' })).toMatchObject({ isError: true, value: { code: 'NOT_FOUND' } })
})

test('another agent starts a run, waits, answers the question, and sees the result; asked twice it is started once', async () => {
  const { client, call } = operating
  const { tools } = await client.listTools()
  const hints = new Map(tools.map((tool) => [tool.name, tool.annotations]))
  expect(hints.get('start_run')).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true })
  expect(hints.get('pause_run')).toMatchObject({ readOnlyHint: false, destructiveHint: false })
  expect(hints.get('settle')).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: false })
  expect(tools.find((tool) => tool.name === 'start_run')?.inputSchema).toMatchObject({ required: expect.arrayContaining(['agent', 'idempotencyKey']) as string[], additionalProperties: false })

  const start = { agent: 'asks', input: {}, items: [{ key: 'a', payload: { what: 'mcp' } }], idempotencyKey: 'from a model' }
  const { id } = (await call('start_run', start)).value as { id: string }
  expect((await call('start_run', start)).value).toEqual({ id, isNew: false })
  expect(await call('start_run', { ...start, items: [] })).toMatchObject({ isError: true, value: { code: 'IDEMPOTENCY_CONFLICT' } })
  expect((await call('watch', { run: id, waitSeconds: 60 })).value).toMatchObject({ hasEnded: false, needsPerson: true, blockedReasons: { question: 1 } })
  const { entries } = (await call('inbox', { run: id })).value as { entries: { question: { id: number; question: string; answerSchema: unknown } }[] }
  expect(entries).toMatchObject([{ kind: 'question', question: { question: 'How many lines about mcp?', answerSchema: { required: ['lines'] } } }])
  const question = entries[0]?.question.id ?? -1
  expect(await call('answer', { run: id, question, answer: { lines: 9 } })).toMatchObject({ isError: true, value: { code: 'BAD_ANSWER', details: { path: 'answer.lines' } } })
  expect(await call('answer', { run: id, question, answer: { lines: 1 } })).toMatchObject({ isError: false, value: { status: 'answered', answeredBy: expect.stringMatching(/^mcp:/) as string } })
  expect((await call('watch', { run: id, waitSeconds: 60 })).value).toMatchObject({ status: 'completed', hasEnded: true, needsPerson: false })
  expect((await call('list_items', { run: id })).value).toMatchObject({ entries: [{ key: 'a', status: 'done', result: 1 }] })
  expect(await call('cancel_run', { run: id })).toMatchObject({ isError: true, value: { code: 'WRONG_STATE' } })
  expect((await call('list_runs', { agent: 'asks' })).value).toMatchObject({ entries: [{ id, status: 'completed' }] })
  expect(await call('get_run', { run: id, more: 1 }).then((one) => one.isError, () => true)).toBe(true)
})

test('a call waits for a yes to what the inbox shows: another digest changes nothing, a no and a yes reach their own calls', async () => {
  const { client, call } = operating
  const hints = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool.annotations]))
  expect([hints.get('approve')?.destructiveHint, hints.get('reject')?.destructiveHint]).toEqual([true, false])
  const { id } = (await call('start_run', { agent: 'pays', input: {}, items: [{ key: 'a', payload: { to: 'ann' } }, { key: 'b', payload: { to: 'bob' } }], idempotencyKey: 'pays' })).value as { id: string }
  expect((await call('watch', { run: id, waitSeconds: 60 })).value).toMatchObject({ needsPerson: true, blockedReasons: { approval: 2 } })
  const { entries } = (await call('inbox', { run: id })).value as { entries: { approval: { actionId: number; digest: string; args: { to: string } } }[] }
  const shown = (to: string) => { const { approval } = entries.find((entry) => entry.approval.args.to === to)!; return { actionId: approval.actionId, digest: approval.digest } }
  expect((await call('approve', { run: id, calls: [{ ...shown('ann'), digest: 'another' }] })).value).toMatchObject({ decisions: [{ outcome: 'changed' }] })
  expect((await call('reject', { run: id, calls: [shown('bob')], note: 'not him' })).value).toMatchObject({ decisions: [{ outcome: 'rejected' }] })
  expect((await call('approve', { run: id, calls: [shown('ann'), shown('bob')] })).value).toMatchObject({ decisions: expect.arrayContaining([
    expect.objectContaining({ actionId: shown('ann').actionId, outcome: 'approved', decidedBy: expect.stringMatching(/^mcp:/) as string }),
    expect.objectContaining({ actionId: shown('bob').actionId, outcome: 'decided', status: 'rejected' }),
  ]) as unknown[] })
  await call('watch', { run: id, waitSeconds: 60 })
  expect(readFileSync(join(world.folder, 'sent.txt'), 'utf8').split('\n').filter((line) => line.startsWith('paid'))).toEqual(['paid ann'])
})

test('an id that is beyond a double is refused, not rounded on its way to an agent (case 63)', async () => {
  expect(await operating.call('start_run', { agent: 'pays', input: {}, items: [{ key: 'a', payload: { to: Number('9007199254740993') } }], idempotencyKey: 'big' })).toMatchObject({ isError: true, value: { code: 'BAD_NUMBER' } })
})

test('a wait is bounded, and a run can be paused, resumed and cancelled', async () => {
  const { call } = operating
  const { id } = (await call('start_run', { agent: 'asks', input: {}, items: [{ key: 'a', payload: { what: 'pause' } }], idempotencyKey: 'pauses' })).value as { id: string }
  expect((await call('pause_run', { run: id })).isError).toBe(false)
  expect((await call('watch', { run: id, waitSeconds: 0.3 })).value).toMatchObject({ hasEnded: false, paused: true })
  expect((await call('resume_run', { run: id, dryRun: true })).value).toMatchObject({ dryRun: true, isAllowed: true })
  expect((await call('resume_run', { run: id })).value).toMatchObject({ dryRun: false })
  expect((await call('cancel_run', { run: id, reason: 'enough' })).value).toMatchObject({ status: 'cancelled' })
})

test('over HTTP the producer decides by the token, whatever is listed', async () => {
  const producer = await openProducer({ PAWL_TOKENS: `looker:read:${sha256('look')},starter:read+run:${sha256('start')}` })
  try {
    const env = { PAWL_URL: producer.url }
    const [looker, starter] = await Promise.all([serve([], { ...env, PAWL_TOKEN: 'look' }), serve([], { ...env, PAWL_TOKEN: 'start' })])
    const start = { agent: 'stock', input: null, items: [{ key: 'a', payload: 1 }], idempotencyKey: 'k' }
    expect(await looker.call('start_run', start)).toMatchObject({ isError: true, value: { code: 'FORBIDDEN', details: { scope: 'run' } } })
    expect(await producer.countRuns()).toBe(0)
    const { id } = (await starter.call('start_run', start)).value as { id: string }
    expect((await looker.call('get_run', { run: id })).value).toMatchObject({ id, createdBy: 'starter' })
    for (const [name, args] of [['cancel_run', {}], ['answer', { question: 1, answer: true }], ['approve', { calls: [{ actionId: 1, digest: 'x' }] }], ['reject', { calls: [{ actionId: 1, digest: 'x' }] }], ['settle', { action: 1, answer: 'abandon', attempt: 1, evidence: 0 }], ['release_item', { item: 1, verb: 'fail', attempts: 1, reason: 'diverged' }]] as const) {
      expect(await starter.call(name, { run: id, ...args }), name).toMatchObject({ isError: true, value: { code: 'FORBIDDEN', details: { scope: 'operate' } } })
    }
  } finally {
    await producer.close()
  }
})

test('it ends with its caller', async () => {
  const { client, pid } = looking
  await client.close()
  await expect.poll(() => { try { process.kill(pid, 0); return true } catch { return false } }, { timeout: 10_000 }).toBe(false)
})
