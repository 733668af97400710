/** Faults other systems had with models, on a model that words, orders and numbers its calls differently on every request (docs/cases.md). */
import { newRunId } from '@pawl/core'
import { answerQuestion, releaseItem, wakeItems } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AnyAgent } from '../define-agent.ts'
import { effectTool, until, World } from '../world.testsuite.ts'
import { agentLoop } from './loop.ts'
import { thinkingModel, type ScriptedTurn, type ThinkingModel } from './thinking.testsuite.ts'

let world: World
let model: ThinkingModel
const agents = new Map<string, AnyAgent>()
const scripts = new Map<string, (turn: number) => ScriptedTurn>()
const paid: unknown[] = []

const digits = z.union([z.string(), z.number()])
const pay = defineTool({
  name: 'pay', version: '1', description: 'Pays.', effect: 'idempotent', concurrent: true, inputSchema: z.object({ id: digits, amount: digits }), outputSchema: z.null(),
  execute(input) {
    paid.push(input)
    return Promise.resolve(null)
  },
})

beforeAll(async () => {
  model = thinkingModel((item, turn) => scripts.get(item)?.(turn) ?? { text: 'there is no script' })
  world = await World.open((tools, effects) => {
    const meant = effectTool(effects, { name: 'meant', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject] })
    const loop = agentLoop({ model: model.model, system: 'You do what the script says.' })
    const base = { version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools: { keyed: tools.keyed, meant, pay } }
    for (const agent of [
      defineAgent({ ...base, name: 'thinks', run: loop }),
      defineAgent({ ...base, name: 'asks-first', async run({ ctx }) {
        await ctx.ask('Which tone?', z.object({ tone: z.string() }))
        return await loop({ ctx })
      } }),
    ]) agents.set(agent.name, agent)
    return [...agents.values()]
  })
})
afterAll(() => world.close())

async function start(item: string, script: (turn: number) => ScriptedTurn, options: { agent?: string; id?: string } = {}): Promise<string> {
  scripts.set(item, script)
  const { agent = 'thinks', id = newRunId() } = options
  return await world.workers.startRun(agents.get(agent) as AnyAgent, null, { items: [{ key: item, payload: null }], id })
}

test.concurrent('case 22: what a model began is settled in its own words before it is asked again; other words for the same business wait for a person, in a later turn and in the same', async () => {
  const [id, same] = [newRunId(), newRunId()]
  const invoice = (subject: string) => ({ tool: 'meant', input: { subject } })
  const fault = world.workers.fault({ runId: id, at: 'after-intent', seq: 1, does: 'freeze' })
  await start('again', (turn) => (turn <= 2 ? { calls: [invoice('invoice 7')] } : { text: 'paid' }), { id })
  await start('twice', (turn) => (turn === 1 ? { calls: [invoice('invoice 8'), invoice('invoice 8')] } : { text: 'paid' }), { id: same })
  await fault.struck
  for (const runId of [id, same]) expect((await world.blocked(runId, 'conflict')).blocked_detail).toMatch(/recorded|attempted/)
  expect([model.asked('again', 1), model.asked('again', 2), model.asked('twice')]).toEqual([1, 1, 1])
  const [turn] = await world.rows<{ decision: string }>('select decision from pawl.turns where run_id = $1 and n = 1', [id])
  const { calls } = JSON.parse(turn?.decision ?? '{}') as { calls: { input: unknown }[] }
  expect((await world.actions(id)).map((action) => [action.status, JSON.parse(action.args) as unknown])).toEqual([['committed', calls[0]?.input]])
  expect([world.effects.receipts({ subject: 'invoice 7' }).length, world.effects.receipts({ subject: 'invoice 8' }).length]).toEqual([1, 0])
  // Let go on, the other words are none of a call of its own: the model gets the one result.
  for (const runId of [id, same]) {
    await releaseItem(world.workers.ledger, runId, 1, 'resume', { actor: 'ann' })
    world.workers.touch(runId)
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  }
  expect([world.effects.receipts({ subject: 'invoice 7' }).length, world.effects.receipts({ subject: 'invoice 8' }).length]).toEqual([1, 1])
  expect([model.asked('again', 2), model.asked('twice', 1)]).toEqual([1, 1])
})

test.concurrent('case 23: the key of a call is one on every send, in the ledger and outside, whatever the provider calls it on each request', async () => {
  const id = newRunId()
  world.effects.program('numbered', [{ drop: 'before' }, { drop: 'after' }])
  const fault = world.workers.fault({ runId: id, at: 'after-decision', seq: 1, does: 'freeze' })
  await start('numbered', (turn) => (turn === 1 ? { calls: [{ tool: 'keyed', input: { subject: 'numbered' } }] } : { text: 'done' }), { id })
  await fault.struck
  expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
  const [action] = await world.actions(id)
  const receipts = world.effects.receipts({ subject: 'numbered' })
  expect([model.asked('numbered', 1), receipts.length, new Set(receipts.map((one) => one.key))]).toEqual([2, 3, new Set([action?.key])])
  expect(world.effects.effects({ subject: 'numbered' })).toBe(1)
  expect(JSON.stringify([action, await world.rows('select * from pawl.turns where run_id = $1', [id])])).not.toContain('call_')
})

test.concurrent('case 63: a number that a double would change is not sent as another: it goes back to the model, and as text it arrives with every digit', async () => {
  const runId = await start('digits', (turn) => [
    { calls: [{ tool: 'pay', input: '{"id": 9007199254740993, "amount": 5810142810638157171}' }] },
    { calls: [{ tool: 'pay', input: '{"id": "9007199254740993", "amount": "5810142810638157171"}' }] },
  ][turn - 1] ?? { text: 'paid' })
  expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  expect(model.prompt('digits')).toContain('holds the number 9007199254740993, which a double would change')
  expect(paid).toEqual([{ id: '9007199254740993', amount: '5810142810638157171' }])
})

test.concurrent('what a person answered before the model was asked is in its prompt, on the first attempt and on the next', async () => {
  const id = newRunId()
  const fault = world.workers.fault({ runId: id, at: 'before-finish', nth: 1, seq: 1, does: 'freeze' })
  await start('toned', (turn) => (turn === 1 ? { calls: [{ tool: 'keyed', input: { subject: 'toned' } }] } : { text: 'formally' }), { agent: 'asks-first', id })
  await world.blocked(id, 'question')
  const [question] = await world.rows<{ id: number }>('select id::int from pawl.questions where run_id = $1', [id])
  await answerQuestion(world.workers.ledger, id, question?.id ?? -1, { value: '{"tone":"formal"}', actor: 'ann' })
  await wakeItems(world.workers.ledger, id)
  world.workers.touch(id)
  await fault.struck
  expect(model.prompt('toned')).toContain('asked a person · key 1 · Which tone? → {\\"tone\\":\\"formal\\"}')
  await until('it is through', async () => (await world.item(id)).status === 'done')
})
