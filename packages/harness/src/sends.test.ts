/** What stands before a send: the intent in the ledger, and the guard once more at the write. */
import { newRunId, ToolFailed } from '@pawl/core'
import { defineTool } from '@pawl/tools'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { inputSchema, outputSchema, World, type EffectTool, type Input, type Output } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

let world: World
let scripts: Scripts<{ witness: EffectTool; dawdler: EffectTool; guarded: EffectTool; unguarded: EffectTool; late: EffectTool }>
/** Of each call of `witness`, what the ledger had under its key when it was made. */
const found: string[] = []
let tellCalled: () => void = () => {}
const called = new Promise<void>((resolve) => { tellCalled = resolve })

const witness = defineTool<Input, Output>({
  name: 'witness', version: '1', description: 'Looks for its own intent.', effect: 'non-idempotent', timeout: 5_000, inputSchema, outputSchema,
  async execute({ subject }, { key }) {
    const [row] = await world.rows<{ status: string }>('select status from pawl.actions where key = $1', [key])
    found.push(row?.status ?? 'nothing')
    tellCalled()
    return { ref: subject }
  },
})

let dawdles = 1
const dawdler = (url: string) => defineTool<Input, Output>({
  name: 'dawdler', version: '1', description: 'Holds up the whole process before it sends.', effect: 'non-idempotent', timeout: 5_000, inputSchema, outputSchema,
  async execute({ subject }, { key, fetch }) {
    const end = Date.now() + (dawdles-- > 0 ? 1_300 : 0)
    while (Date.now() < end);
    const response = await fetch(`${url}/opaque/do/${subject}`, { method: 'POST', body: '{}', headers: { 'idempotency-key': key } })
    return (await response.json()) as Output
  },
})

/** Its receiver does not listen. */
const unreachable = (name: string, guarded: boolean) => defineTool<Input, Output>({
  name, version: '1', description: 'Nobody listens there.', effect: 'non-idempotent', guarded, timeout: 5_000, retry: { attempts: 2, firstDelayMs: 10 }, inputSchema, outputSchema,
  async execute(_, { fetch }) {
    return (await (await fetch('http://127.0.0.1:1/', { method: 'POST', body: '{}' })).json()) as Output
  },
})

let tellTriedLate: (error: unknown) => void = () => {}
const triedLate = new Promise<unknown>((resolve) => { tellTriedLate = resolve })
const late = (url: string) => defineTool<Input, Output>({
  name: 'late', version: '1', description: 'Comes to its send after its deadline only.', effect: 'non-idempotent', guarded: true, timeout: 200, retry: { attempts: 1 }, inputSchema, outputSchema,
  async execute({ subject }, { fetch, signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await new Promise((resolve) => setTimeout(resolve, 50))
    // Its own signal: a tool that does not hand on ours.
    return (await (await fetch(`${url}/opaque/do/${subject}`, { method: 'POST', body: '{}' }).catch((error: unknown) => {
      tellTriedLate(error)
      throw error
    })).json()) as Output
  },
})

beforeAll(async () => {
  world = await World.open((_, effects) => [(scripts = new Scripts({
    witness, dawdler: dawdler(effects.url), guarded: unreachable('guarded', true), unguarded: unreachable('unguarded', false), late: late(effects.url),
  })).agent])
})
afterAll(() => world.close())

test('nothing is sent before its intent is durable', async () => {
  const runId = newRunId()
  const fault = world.workers.fault({ runId, at: 'before-intent', does: 'freeze' })
  await scripts.start(world, { run: async ({ tools }) => { await tools.witness({ subject: 'durable first' }) } }, { id: runId })
  await fault.struck
  // While somebody holds the item's row no intent can be written, so nothing may be called; a wrong build has its chance now.
  const other = postgres(world.url, { max: 1, onnotice: () => {} })
  await other.begin(async (sql) => {
    await sql`select 1 from pawl.items where run_id = ${runId} and seq = 1 for update`
    fault.thaw()
    await Promise.race([called, new Promise((resolve) => setTimeout(resolve, 300))])
  })
  await other.end({ timeout: 1 })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
  expect(found).toEqual(['started'])
})

test('a tool that holds up the process past the send window writes nothing: the call is unsent, and sent again (hole 8)', async () => {
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.dawdler({ subject: 'dawdled' }) } })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
  const [action] = await world.actions(runId)
  expect(action).toMatchObject({ status: 'committed' })
  expect(action?.refused).toBeGreaterThanOrEqual(1)
  expect(world.effects.receipts({ subject: 'dawdled' })).toHaveLength(1)
})

test('a guarded tool whose receiver cannot be reached is refused and tells the agent; nobody is asked', async () => {
  let told: unknown
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.guarded({ subject: 'guarded' }).catch((error: unknown) => { told = error }) } })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
  expect(told).toBeInstanceOf(ToolFailed)
  const [action] = await world.actions(runId)
  expect(action).toMatchObject({ status: 'failed', sends: 2, refused: 2 })
})

test('without that promise nobody knows what else the tool did: a person is asked', async () => {
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.unguarded({ subject: 'unguarded' }) } })
  await vi.waitFor(async () => expect((await world.actions(runId))[0]).toMatchObject({ status: 'in_doubt', sends: 1 }), { timeout: 20_000, interval: 50 })
})

test('a guarded tool that reaches its deadline before its send is refused, and what it tries later is not sent', async () => {
  let told: unknown
  const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.late({ subject: 'late' }).catch((error: unknown) => { told = error }) } })
  expect((await world.workers.runIs(runId)).status).toBe('completed')
  expect(told).toBeInstanceOf(ToolFailed)
  expect(await triedLate).toBeInstanceOf(Error)
  expect(world.effects.receipts({ subject: 'late' })).toHaveLength(0)
})
