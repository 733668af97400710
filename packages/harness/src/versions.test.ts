/** Runs live longer than builds: what they are pinned to, who may go on with them, and what code their calls run on. */
import { auditLedger, repinRun } from '@pawl/ledger'
import { pinsOf } from '@pawl/tools'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AnyAgent } from './define-agent.ts'
import { effectTool, until, World, type EffectTool, type Input } from './world.testsuite.ts'

let world: World
afterEach(async () => { await world.close() })

const payloadSchema = z.object({ subjects: z.array(z.string()) })
interface Definition extends Pick<AnyAgent, 'version' | 'serves' | 'schemaVersion' | 'upcast' | 'previousTools' | 'pins'> {
  readonly name?: string
  readonly tool: EffectTool
  /** Of its attempts. */
  readonly signals?: AbortSignal[]
}

/** Sends for each subject of its payload. */
const mailer = ({ tool, signals, ...given }: Definition): AnyAgent => defineAgent({
  name: 'mailer', inputSchema: z.unknown(), payloadSchema, tools: { send: tool },
  async run({ payload, tools: { send }, ctx }) {
    signals?.push(ctx.signal)
    for (const subject of payload.subjects) await send({ subject, note: 'x' })
  },
  ...given,
})

const tools = (): { v1: EffectTool; v2: EffectTool } => ({
  v1: effectTool(world.effects, { name: 'mail', version: '1', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject, note }: Input) => [subject, note] }),
  v2: effectTool(world.effects, { name: 'mail', version: '2', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject, note }: Input) => [note, subject] }),
})
const oneItem = (...subjects: string[]) => [{ key: 'only', payload: { subjects } }]
const detailOf = async (runId: string): Promise<unknown> => JSON.parse((await world.blocked(runId, 'version')).blocked_detail ?? 'null')
const attempts = (runId: string) => world.rows<{ agent_version: string; build_version: string; lock_digest: string }>('select * from pawl.attempts where run_id = $1 order by item_seq, epoch', [runId])
const violations = async () => (await auditLedger(world.workers.ledger)).violations

/** As its supervisors and the leases' ends would tell. */
async function fleetDies(): Promise<void> {
  world.workers.kill()
  await world.rows('delete from pawl.workers')
  await world.rows(`update pawl.items set lease_until = clock_timestamp() where status = 'in_progress'`)
}

/** With the first call done and the second between its intent and its send, the whole fleet dies. */
async function startAndDie(agent: AnyAgent, subjects: readonly string[]): Promise<string> {
  await world.workers.startWorker([agent])
  const runId = await world.workers.startRun(agent, {}, { items: oneItem(...subjects), rings: false })
  const fault = world.workers.fault({ runId, at: 'before-send', nth: 2, does: 'freeze' })
  world.workers.touch(runId)
  await fault.struck
  await fleetDies()
  return runId
}

test('a run begun under version 1 is finished by version 3 that serves it: its pins stay, its calls keep their version and their keys (holes 7 and 29)', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1, v2 } = tools()
  const first = mailer({ version: '1', tool: v1 })
  const runId = await startAndDie(first, ['a', 'b'])
  await world.workers.startWorker([mailer({ version: '3', serves: ['1', '2'], tool: v2, previousTools: [v1] })])
  await world.workers.runIs(runId, ['completed'])
  expect([await world.applied('a'), await world.applied('b'), world.effects.receipts({ subject: 'a' }).length]).toEqual([1, 1, 1])
  expect((await world.actions(runId)).map((action) => action.tool_version)).toEqual(['1', '1'])
  expect((await attempts(runId)).map((a) => [a.agent_version, a.build_version, a.lock_digest])).toEqual([['1', '1', pinsOf(first).lockDigest], ['1', '3', pinsOf(first).lockDigest], ['1', '3', pinsOf(first).lockDigest]])
  expect(await world.rows('select agent_version, lock_digest from pawl.runs where id = $1', [runId])).toEqual([{ agent_version: '1', lock_digest: pinsOf(first).lockDigest }])
  expect(await violations()).toEqual([])
})

test('a build whose tool changed and that did not keep the older one takes no item of the run: blocked `version`, no attempt counted, nothing sent; it goes on when one comes that has it', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1, v2 } = tools()
  const runId = await startAndDie(mailer({ version: '1', tool: v1 }), ['a', 'b'])
  await world.workers.startWorker([mailer({ version: '3', serves: ['1'], tool: v2 })])
  expect(await detailOf(runId)).toEqual({ agent: 'mailer', version: '1', tools: ['mail@1'] })
  expect(await world.item(runId)).toMatchObject({ attempts: 1, failures: 0 })
  expect([await world.applied('a'), await world.applied('b')]).toEqual([1, 0])
  await world.workers.startWorker([mailer({ version: '3', serves: ['1'], tool: v2, previousTools: [v1] })])
  await world.workers.runIs(runId, ['completed'])
  expect([await world.applied('a'), await world.applied('b')]).toEqual([1, 1])
  expect(await violations()).toEqual([])
})

test('the same version with another key format, another prompt or a schema it cannot read is another build: refused before anything is sent (case 95)', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1, v2 } = tools()
  const silent = effectTool(world.effects, { name: 'mail', version: '1', via: 'keyed', effect: 'idempotent', concurrent: true, key: v2.key! })
  const pinned = { version: '1', tool: v1, pins: { model: 'm', prompt: 'old' } }
  const runs = await Promise.all([mailer({ version: '1', tool: v1 }), mailer({ ...pinned, name: 'writer' }), mailer({ version: '1', name: 'shaper', tool: v1, schemaVersion: 2, upcast: { 1: (payload) => payload } })]
    .map((agent) => world.workers.startRun(agent, {}, { items: oneItem(`for ${agent.name}`) })))
  await world.workers.startWorker([mailer({ version: '1', tool: silent }), mailer({ ...pinned, name: 'writer', pins: { model: 'm', prompt: 'new' } }), mailer({ version: '1', name: 'shaper', tool: v1 })])
  const details = await Promise.all(runs.map(detailOf))
  expect(details).toEqual([
    { agent: 'mailer', version: '1', tools: ['mail@1'] },
    { agent: 'writer', version: '1', prompt: { run: 'old', build: 'new' } },
    { agent: 'shaper', version: '1', schema: { run: 2, item: null, build: 1, from: 1 } },
  ])
  expect(world.effects.receipts()).toEqual([])
})

/** The same receiver, and to it the same letter; another name, so another key. */
const renamed = (): EffectTool => effectTool(world.effects, { name: 'post', version: '1', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject, note }: Input) => [subject, note] })

test('a tool with another name is another tool: a build that has not kept the old one takes no item of the run, begun or not, and nothing is sent (case 95)', async () => {
  world = await World.open(() => [], { workers: 0 })
  const runId = await startAndDie(mailer({ version: '1', tool: tools().v1 }), ['a', 'b'])
  const fresh = await world.workers.startRun(mailer({ version: '1', tool: tools().v1 }), {}, { items: oneItem('a') })
  await world.workers.startWorker([mailer({ version: '3', serves: ['1'], tool: renamed() })])
  expect([await detailOf(runId), await detailOf(fresh)]).toEqual(Array.from({ length: 2 }, () => ({ agent: 'mailer', version: '1', tools: ['mail@1'] })))
  expect(world.effects.receipts().map((receipt) => receipt.subject)).toEqual(['a'])
})

test('a build that kept the old tool and calls the new name for what an item has done stops before the send: diverged, with both calls named (case 95)', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1 } = tools()
  const runId = await startAndDie(mailer({ version: '1', tool: v1 }), ['a', 'b'])
  await world.workers.startWorker([mailer({ version: '3', serves: ['1'], tool: renamed(), previousTools: [v1] })])
  const { blocked_detail } = await world.blocked(runId, 'diverged')
  expect(JSON.parse(blocked_detail ?? '')).toMatchObject({ tool: 'post', recorded: { tool: 'mail', action: (await world.actions(runId))[0]?.id } })
  expect(['a', 'b'].map((subject) => world.effects.effects({ subject }))).toEqual([1, 1])
  expect((await world.actions(runId)).map((action) => action.tool)).toEqual(['mail', 'mail'])
  expect(await world.item(runId)).toMatchObject({ failures: 0 })
  expect(await violations()).toEqual([])
})

test('what waits for a version nobody serves is blocked `version` once the grace is over, and wakes when a worker that has it comes (hole 29, case 94)', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1 } = tools()
  const old = mailer({ version: '1', tool: v1 })
  const runId = await world.workers.startRun(old, {}, { items: Array.from({ length: 5 }, (_, i) => ({ key: `${i}`, payload: { subjects: [`s${i}`] } })), policy: { maxConcurrency: 2 } })
  await world.workers.startWorker([mailer({ version: '2', tool: v1 })])
  expect(await detailOf(runId)).toEqual({ agent: 'mailer', version: '1' })
  await until('as many as the window takes are shown', async () => (await world.items(runId)).filter((item) => item.blocked_reason === 'version').length === 2)
  await world.workers.startWorker([old])
  await world.workers.runIs(runId, ['completed'])
  expect(world.effects.receipts().length).toBe(5)
  expect(await violations()).toEqual([])
})

test('repin moves a run under way on purpose: what is in progress is handed back, doorbells of the old version are stale, and the event says who and from what to what', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1 } = tools()
  const signals: AbortSignal[] = []
  const [one, two] = [mailer({ version: '1', tool: v1, signals }), mailer({ version: '2', tool: v1 })]
  world.effects.program('a', [{ hold: 'after' }])
  await world.workers.startWorker([one])
  const runId = await world.workers.startRun(one, {}, { items: [...oneItem('a', 'b'), { key: 'waits', payload: { subjects: ['c'] } }], policy: { maxConcurrency: 1 } })
  await until('the first call is under way', () => world.effects.receipts({ subject: 'a' }).length === 1)
  const { agentVersion, modelVersion, promptVersion, lockDigest, tools: toolPins } = pinsOf(two)
  const pins = { agentVersion, modelVersion, promptVersion, lockDigest, tools: toolPins }
  expect(await repinRun(world.workers.ledger, runId, '9', pins, { actor: 'ann', reason: null })).toMatchObject({ outcome: 'changed', version: '1' })
  expect(await repinRun(world.workers.ledger, runId, '1', pins, { actor: 'ann', reason: 'the deploy' })).toMatchObject({ outcome: 'repinned', version: '2', moved: 2 })
  await world.workers.startWorker([two])
  await until('the attempt under the old pins is over', () => signals.every((signal) => signal.aborted))
  world.effects.release('a')
  await world.workers.runIs(runId, ['completed'])
  expect(['a', 'b', 'c'].map((subject) => world.effects.receipts({ subject }).length)).toEqual([1, 1, 1])
  const under = await world.rows<{ item_seq: number; agent_version: string; build_version: string }>('select item_seq, agent_version, build_version from pawl.attempts where run_id = $1 and item_seq < 3 order by item_seq, epoch', [runId])
  expect(under.map((a) => [a.item_seq, a.agent_version, a.build_version])).toEqual([[1, '1', '1'], [1, '2', '2'], [2, '2', '2']])
  const [event] = await world.rows<{ actor: string; data: Record<string, unknown> }>(`select actor, data from pawl.events where run_id = $1 and kind = 'run.repinned'`, [runId])
  expect(event).toMatchObject({ actor: 'ann', data: { from: { version: '1' }, to: { version: '2' }, reason: 'the deploy' } })
  expect(await violations()).toEqual([])
})

test('input and payloads of an older schema are read step by step; what a newer build adds is read as what it is', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1 } = tools()
  const old = mailer({ version: '1', tool: v1 })
  const runId = await world.workers.startRun(old, { greeting: 'hello' }, { items: oneItem('a') })
  const seen: unknown[] = []
  const next = defineAgent({
    name: 'mailer', version: '3', serves: ['1'], schemaVersion: 3, inputSchema: z.object({ words: z.string() }), payloadSchema: z.object({ to: z.array(z.string()), by: z.string() }),
    upcast: {
      1: { payload: (payload) => ({ to: (payload as { subjects: string[] }).subjects }), input: (input) => ({ words: (input as { greeting: string }).greeting }) },
      2: (payload) => ({ ...(payload as { to: string[] }), by: 'mail' }),
    },
    tools: { send: v1 },
    async run({ input, payload, ctx }) {
      seen.push([ctx.item.key, input, payload])
      if (ctx.item.key === 'only') await ctx.addItems([{ key: 'added', payload: { to: ['z'], by: 'post' } }])
    },
  })
  await world.workers.startWorker([next])
  await world.workers.runIs(runId, ['completed'])
  expect(seen).toEqual([['only', { words: 'hello' }, { to: ['a'], by: 'mail' }], ['added', { words: 'hello' }, { to: ['z'], by: 'post' }]])
  expect(await world.rows('select seq, schema_version from pawl.items where run_id = $1 and kind = $2 order by seq', [runId, 'work'])).toEqual([{ seq: 1, schema_version: null }, { seq: 2, schema_version: 3 }])
})

test('a call in flight is settled by the version that sent it, and its undo by the version it was written for', async () => {
  world = await World.open(() => [], { workers: 0 })
  const { v1, v2 } = tools()
  const first = mailer({ version: '1', tool: v1 })
  await world.workers.startWorker([first])
  const runId = await world.workers.startRun(first, {}, { items: oneItem('a'), rings: false })
  const fault = world.workers.fault({ runId, at: 'after-answer', does: 'freeze' })
  world.workers.touch(runId)
  await fault.struck
  await fleetDies()
  await world.workers.startWorker([mailer({ version: '2', serves: ['1'], tool: v2, previousTools: [v1] })])
  await world.workers.runIs(runId, ['completed'])
  expect(world.effects.receipts({ subject: 'a' }).length).toBe(2)
  expect(await world.applied('a')).toBe(1)
  expect((await world.actions(runId)).map((action) => [action.tool_version, action.status, action.sends])).toEqual([['1', 'committed', 2]])
})
