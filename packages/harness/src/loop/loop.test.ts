import { APICallError, type LanguageModelV3CallOptions } from '@ai-sdk/provider'
import { newRunId, NotApplied } from '@pawl/core'
import { pauseRun, releaseItem, resumeRun, setBudget } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AnyAgent } from '../define-agent.ts'
import type { FailpointName } from '../failpoint.ts'
import { until, World, type EffectTool, type ToolClass } from '../world.testsuite.ts'
import { agentLoop, loopOf } from './loop.ts'
import type { LoopOptions } from './options.ts'
import type { TurnDelta } from './stream.ts'
import { thinkingModel, type ScriptedTurn, type ThinkingModel } from './thinking.testsuite.ts'

let world: World
let model: ThinkingModel
const scripts = new Map<string, (turn: number, request: number) => ScriptedTurn | Promise<ScriptedTurn>>()
const agents = new Map<string, AnyAgent>()
const deltas: { item: number; delta: TurnDelta }[] = []

const flaky = defineTool({
  name: 'flaky', version: '1', description: 'Always refused.', effect: 'idempotent', inputSchema: z.object({ subject: z.string(), note: z.string().optional() }),
  outputSchema: z.null(), retry: { attempts: 1 }, execute: () => Promise.reject(new NotApplied('the account is closed')),
})
const slow = defineTool({
  name: 'slow', version: '1', description: 'Reads.', effect: 'read', inputSchema: z.object({ subject: z.string(), note: z.string().optional() }), outputSchema: z.string(),
  execute: ({ subject }) => Promise.resolve(`read ${subject}`),
})

/** One agent per set of loop options; what its model says about an item is the script of that item's key. */
function agentOf(name: string, tools: Record<ToolClass, EffectTool>, options: Partial<LoopOptions>): AnyAgent {
  const agent = defineAgent({
    name, version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools: { ...tools, flaky, slow },
    run: agentLoop({ model: model.model, system: 'You do what the script says.', contextTokens: 20_000, ...options }),
  })
  agents.set(name, agent)
  return agent
}

/** As `ai` 7 makes them: another specification, and ends that `ai` 6 does not know. */
const seventh = {
  specificationVersion: 'v4', provider: 'scripted', modelId: 'scripted-7',
  doGenerate: (options: LanguageModelV3CallOptions) => model.model.doGenerate(options),
  doStream: (options: LanguageModelV3CallOptions) => model.model.doStream(options),
} as const

beforeAll(async () => {
  model = thinkingModel(async (item, turn, request) => (await scripts.get(item)?.(turn, request)) ?? { text: 'there is no script' })
  world = await World.open((tools) => [
    agentOf('plain', tools, {}),
    agentOf('impatient', tools, { patience: 300 }),
    agentOf('frugal', tools, { maxTurns: 2, prices: { input: 3, output: 15, cachedInput: 1 } }),
    agentOf('shaped', tools, { output: z.object({ sum: z.number() }) }),
    agentOf('seventh', tools, { model: seventh }),
    agentOf('watched', tools, { onDelta: (delta, { seq }) => deltas.push({ item: seq, delta }) }),
  ], { concurrency: 200 })
})
afterAll(async () => { await world.close() })

let items = 0
async function start(script: (turn: number, request: number) => ScriptedTurn | Promise<ScriptedTurn>, options: { agent?: string; id?: string; policy?: object } = {}): Promise<{ runId: string; item: string }> {
  const item = `item-${++items}`
  scripts.set(item, script)
  const agent = agents.get(options.agent ?? 'plain')
  if (!agent) throw new Error('no such agent')
  const runId = await world.workers.startRun(agent, null, { items: [{ key: item, payload: null }], policy: options.policy ?? {}, ...(options.id === undefined ? {} : { id: options.id }) })
  return { runId, item }
}

const turnsOf = (runId: string) => world.rows<{ n: number; decision: string; input_tokens: number; cost_micros: string }>('select * from pawl.turns where run_id = $1 order by n', [runId])
const resultOf = async (runId: string): Promise<unknown> => JSON.parse((await world.item(runId)).result ?? 'null') as unknown

/** Four turns over four effect classes; the third decides three calls at once. */
const work = (subject: string) => (turn: number): ScriptedTurn => [
  { calls: [{ tool: 'read', input: { subject: `${subject}.a` } }] },
  { text: 'Now the three.', calls: [{ tool: 'keyed', input: { subject: `${subject}.b` } }, { tool: 'lookup', input: { subject: `${subject}.c` } }, { tool: 'tx', input: { subject: `${subject}.d` } }, { tool: 'keyed', input: { subject: `${subject}.f` } }] },
  { calls: [{ tool: 'lookup', input: { subject: `${subject}.e` } }] },
][turn - 1] ?? { text: 'All is done.' }
const effectsOf = (subject: string) => Promise.all(['b', 'c', 'd', 'e', 'f'].map((one) => world.applied(`${subject}.${one}`)))

test('a model of ai 7 decides like one of ai 6, and an answer it says was interrupted is none', async () => {
  const { runId, item } = await start((turn, request) => (turn === 1 && request === 1 ? { text: 'half an ans', finishReason: 'interrupted' as never } : work('seventh')(turn)), { agent: 'seventh' })
  await world.workers.runIs(runId)
  expect((await turnsOf(runId)).map(({ n }) => n)).toEqual([1, 2, 3, 4])
  expect(await effectsOf('seventh')).toEqual([1, 1, 1, 1, 1])
  expect([model.asked(item, 1), await resultOf(runId)]).toEqual([2, 'All is done.'])
})

test('a model’s turns are recorded with what they spent, their calls carry them, and the last text is the result', async () => {
  const { runId, item } = await start(work('plain'))
  await world.workers.runIs(runId)
  expect(await resultOf(runId)).toBe('All is done.')
  expect((await turnsOf(runId)).map((turn) => [turn.n, turn.input_tokens])).toEqual([[1, 100], [2, 100], [3, 100], [4, 100]])
  expect((await world.actions(runId)).map((action) => action.turn)).toEqual([1, 2, 2, 2, 2, 3])
  expect(await effectsOf('plain')).toEqual([1, 1, 1, 1, 1])
  expect(await world.item(runId)).toMatchObject({ status: 'done', attempts: 1, failures: 0, tokens_used: '440' })
  expect(model.asked(item)).toBe(4)
})

const places: readonly [FailpointName, number, string?][] = [
  ['after-decision', 1], ['after-decision', 2], ['after-decision', 3], ['after-decision', 4], ['after-turn', 1], ['after-turn', 2], ['after-turn', 3], ['after-turn', 4],
  ['before-intent', 1], ['before-intent', 1, 'keyed'], ['before-intent', 2, 'keyed'], ['before-intent', 1, 'tx'], ['before-intent', 2, 'lookup'],
  ['after-intent', 1, 'keyed'], ['before-send', 1, 'lookup'], ['after-answer', 2, 'keyed'], ['after-answer', 1, 'lookup'], ['after-answer', 1, 'tx'],
  ['after-completion', 1, 'read'], ['after-completion', 1, 'keyed'], ['after-completion', 2, 'lookup'], ['before-finish', 1], ['after-finish', 1],
]

test('crashed at any place of any turn, and woken again: no recorded decision is asked for twice, no effect happens twice', async () => {
  const cells = await Promise.all(places.map(async ([at, nth, tool], i) => {
    const id = newRunId()
    const subject = `cell-${i}`
    const fault = world.workers.fault({ runId: id, at, nth, seq: 1, does: 'freeze', ...(tool === undefined ? {} : { tool }) })
    const { runId, item } = await start(work(subject), { id })
    await fault.struck
    await world.workers.runIs(runId)
    fault.thaw() // the zombie wakes after everything
    await world.workers.quiet(runId)
    return { at: `${at} ${nth} ${tool ?? ''}`, effects: await effectsOf(subject), asked: model.asked(item), again: [1, 2, 3, 4].map((turn) => model.asked(item, turn)), turns: (await turnsOf(runId)).length, run: runId, nth, name: at }
  }))
  for (const cell of cells) {
    const interrupted = cell.name === 'after-decision' ? 1 : 0
    expect([cell.at, cell.effects, cell.turns, cell.asked]).toEqual([cell.at, [1, 1, 1, 1, 1], 4, 4 + interrupted])
    if (interrupted) expect(cell.again[cell.nth - 1]).toBe(2)
  }
})

test('a recorded turn whose calls were not begun is carried out from the record: its keys, its words, its order', async () => {
  const id = newRunId()
  const fault = world.workers.fault({ runId: id, at: 'before-intent', nth: 2, tool: 'keyed', seq: 1, does: 'freeze' })
  const { runId, item } = await start(work('record'), { id })
  await fault.struck
  await until('the turn is durable', async () => (await turnsOf(runId)).length === 2)
  const decided = JSON.parse((await turnsOf(runId))[1]!.decision) as { calls: { key: string; input: { note: string } }[] }
  await world.workers.runIs(runId, undefined, 20_000)
  const made = (await world.actions(runId)).filter((action) => action.turn === 2)
  expect(new Map(made.map((action) => [action.key, (JSON.parse(action.args) as { note: string }).note]))).toEqual(new Map(decided.calls.map((call) => [call.key, call.input.note])))
  expect(model.asked(item)).toBe(4)
})

test('when one of three parallel calls must wait, its siblings are not made again and the model is not asked again (case 17)', async () => {
  world.effects.program('three.b', [{ drop: 'after' }])
  const { runId, item } = await start((turn) => (turn === 1
    ? { calls: [{ tool: 'keyed', input: { subject: 'three.a' } }, { tool: 'opaque', input: { subject: 'three.b' } }, { tool: 'lookup', input: { subject: 'three.c' } }] }
    : { text: 'all three' }))
  await world.answer(runId, 'happened', '{"ref":"seen"}')
  await world.workers.runIs(runId)
  expect(await Promise.all(['a', 'b', 'c'].map((one) => world.applied(`three.${one}`)))).toEqual([1, 1, 1])
  expect([model.asked(item, 1), model.asked(item)]).toEqual([1, 2])
})

test('what a model cannot call comes back to it as a result: no such tool, input that does not fit, no JSON', async () => {
  const { runId, item } = await start((turn) => [
    { calls: [{ tool: 'teleport', input: {} }] },
    { calls: [{ tool: 'keyed', input: { subjekt: 1 } }, { tool: 'keyed', input: '{"subject": "cut of' }, { tool: 'slow', input: { subject: 'good' } }] },
  ][turn - 1] ?? { text: 'given up' })
  await world.workers.runIs(runId)
  expect(model.prompt(item)).toContain('There is no tool \\"teleport\\"')
  expect(model.prompt(item)).toContain('refused its input at \\"subject\\"')
  expect(model.prompt(item)).toContain('The input is no JSON object')
  expect(model.prompt(item)).toContain('read good')
  expect((await world.actions(runId)).map((action) => action.tool)).toEqual(['slow'])
})

test('three turns in a row with a refused call block the item; a person sends it on, and the model is asked for the next turn', async () => {
  const { runId, item } = await start((turn) => (turn <= 3 ? { calls: [{ tool: 'keyed', input: { subject: turn } }] } : { text: 'now I know' }))
  const blocked = await world.blocked(runId, 'tool_input')
  expect(blocked.blocked_detail).toContain('refused its input')
  await releaseItem(world.workers.ledger, runId, 1, 'resume', { actor: 'ann' })
  world.workers.touch(runId)
  await world.workers.runIs(runId)
  expect([await resultOf(runId), model.asked(item)]).toEqual(['now I know', 4])
})

test('a refused tool’s error is the model’s to judge, and replays as it was once it has', async () => {
  const id = newRunId()
  const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
  const { runId, item } = await start((turn) => (turn === 1 ? { calls: [{ tool: 'flaky', input: { subject: 'x' } }] } : { text: 'it is closed' }), { id })
  await fault.struck
  await world.workers.runIs(runId)
  expect(model.prompt(item)).toContain('the account is closed')
  expect((await world.actions(runId)).map((action) => [action.tool, action.status, action.sends])).toEqual([['flaky', 'failed', 1]])
  expect(model.asked(item)).toBe(2)
})

const broken = (statusCode: number, headers: Record<string, string> = {}): Error =>
  new APICallError({ message: `answered ${statusCode}`, url: 'http://model', requestBodyValues: {}, statusCode, responseHeaders: headers })

test('a model call that fails after a finished tool call is asked again by itself: the effect stays one, no failure is spent (case 16)', async () => {
  const { runId, item } = await start((turn, request) => (turn === 1 ? { calls: [{ tool: 'keyed', input: { subject: 'charge' } }] } : request <= 2 ? { fails: () => broken(500) } : { text: 'paid' }))
  await world.workers.runIs(runId)
  expect([await world.applied('charge'), model.asked(item, 1), model.asked(item, 2)]).toEqual([1, 1, 3])
  expect(await world.item(runId)).toMatchObject({ status: 'done', attempts: 1, failures: 0 })
})

test('a model that stays broken fails the item; the next attempt replays the finished call and asks only for the missing turn', async () => {
  let isUp = false
  const { runId, item } = await start((turn) => (turn === 1 ? { calls: [{ tool: 'lookup', input: { subject: 'once' } }] } : isUp ? { text: 'back' } : { fails: () => broken(503) }), { agent: 'impatient', policy: { maxFailures: 1 } })
  expect((await world.workers.runIs(runId)).status).toBe('failed')
  expect(JSON.parse((await world.item(runId)).error ?? '{}')).toMatchObject({ code: 'MODEL_UNAVAILABLE' })
  isUp = true
  await resumeRun(world.workers.ledger, runId, 'ann')
  world.workers.touch(runId)
  await world.workers.runIs(runId, ['completed'])
  expect([await world.applied('once'), model.asked(item, 1), await resultOf(runId)]).toEqual([1, 1, 'back'])
})

test('a long Retry-After gives the worker back and spends nothing; what the provider will never take fails at once', async () => {
  const limited = await start((turn, request) => (request === 1 ? { fails: () => broken(429, { 'retry-after': '11' }) } : { text: 'later' }))
  await until('it sleeps', async () => (await world.item(limited.runId)).status === 'pending' && model.asked(limited.item) === 1)
  expect(await world.item(limited.runId)).toMatchObject({ failures: 0, barren_attempts: 0 })
  const wrong = await start(() => ({ fails: () => broken(400) }), { policy: { maxFailures: 1 } })
  await world.workers.runIs(wrong.runId)
  expect([JSON.parse((await world.item(wrong.runId)).error ?? '{}'), model.asked(wrong.item)]).toMatchObject([{ code: 'MODEL_REFUSED' }, 1])
})

test('a paused run hands its item back although its model does not listen, and the turn it was asked for is not recorded', async () => {
  let answer: (turn: ScriptedTurn) => void = () => {}
  const { runId, item } = await start((turn, request) => (request === 1 ? new Promise((resolve) => { answer = resolve }) : { text: 'second answer' }))
  await until('the model is asked', () => model.asked(item) === 1)
  await pauseRun(world.workers.ledger, runId, 'ann')
  await until('the item is handed back', async () => (await world.item(runId)).status === 'pending')
  answer({ text: 'first answer' })
  await resumeRun(world.workers.ledger, runId, 'ann')
  world.workers.touch(runId)
  await world.workers.runIs(runId)
  expect([await resultOf(runId), (await turnsOf(runId)).length]).toEqual(['second answer', 1])
})

test('a result of a declared shape is given by a call; one that does not fit goes back to the model', async () => {
  const { runId } = await start((turn) => [
    { text: 'I think it is three.' }, { calls: [{ tool: 'final_answer', input: { sum: 'three' } }] }, { calls: [{ tool: 'final_answer', input: { sum: 3 } }] },
  ][turn - 1] ?? {}, { agent: 'shaped' })
  await world.workers.runIs(runId)
  expect(await resultOf(runId)).toEqual({ sum: 3 })
})

test('an answer that was cut off goes on in the next turn', async () => {
  const { runId } = await start((turn) => (turn === 1 ? { text: 'The answer is ', finishReason: 'length' } : { text: 'long.' }))
  await world.workers.runIs(runId)
  expect(await resultOf(runId)).toBe('The answer is long.')
})

test('watchers see the running turn; a stream that breaks is asked for again and leaves nothing behind', async () => {
  const { runId, item } = await start((turn, request) => (turn === 1 && request === 1 ? { text: 'half an ans', finishReason: 'other' } : turn === 1 ? { calls: [{ tool: 'keyed', input: { subject: 'streamed' } }], text: 'I call it.' } : { text: 'streamed' }), { agent: 'watched' })
  await world.workers.runIs(runId)
  expect([await resultOf(runId), await world.applied('streamed'), model.asked(item, 1), (await turnsOf(runId)).length]).toEqual(['streamed', 1, 2, 2])
  const told = deltas.map(({ delta }) => (delta.kind === 'text' ? delta.text : `<${delta.kind}>`)).join('')
  expect(told).toBe('half an ans<again>I call it.<call>streamed')
})

const endless = (turn: number): ScriptedTurn => (turn < 5 ? { calls: [{ tool: 'keyed', input: { subject: `endless.${turn}` } }] } : { text: 'five turns' })

test('an item whose turns are used up blocks with its budget, before the model is asked; raised, it goes on where it was', async () => {
  const { runId, item } = await start(endless, { agent: 'frugal' })
  const blocked = await world.blocked(runId, 'budget')
  expect(JSON.parse(blocked.blocked_detail ?? '{}')).toEqual({ scope: 'item', what: 'turns', limit: 2, used: 2 })
  expect([model.asked(item), blocked.failures]).toEqual([2, 0])
  // Input 60 fresh and 40 cached, output 10: micros per turn.
  expect(Number((await turnsOf(runId))[0]?.cost_micros)).toBe(60 * 3 + 40 * 1 + 10 * 15)
  expect((await setBudget(world.workers.ledger, runId, { budget: null, itemBudget: { turns: 10 } }, { actor: 'ann', note: 'it is worth it' })).outcome).toBe('set')
  await world.workers.runIs(runId)
  expect([await resultOf(runId), model.asked(item)]).toEqual(['five turns', 5])
  expect((await world.rows('select kind, actor, data from pawl.events where run_id = $1 and kind = $2', [runId, 'run.budget']))).toEqual([{ kind: 'run.budget', actor: 'ann', data: { itemBudget: { turns: 10 }, note: 'it is worth it' } }])
})

test('a run’s budget holds for all its items together; raising it beside an item that parks loses nothing', async () => {
  const { runId, item } = await start(endless, { policy: { budget: { tokens: 220 } } })
  await world.blocked(runId, 'budget')
  expect(model.asked(item)).toBe(2)
  // Too little: it still holds.
  await setBudget(world.workers.ledger, runId, { budget: { tokens: 219 }, itemBudget: null }, { actor: 'ann' })
  expect((await world.item(runId)).blocked_reason).toBe('budget')
  await releaseItem(world.workers.ledger, runId, 1, 'resume', { actor: 'ann' })
  world.workers.touch(runId)
  await until('it blocked again, without asking', async () => Number((await world.rows(`select count(*)::integer as n from pawl.events where run_id = $1 and kind = 'item.blocked'`, [runId]))[0]?.n) === 2)
  expect(model.asked(item)).toBe(2)
  await setBudget(world.workers.ledger, runId, { budget: { tokens: 10_000 }, itemBudget: null }, { actor: 'ann' })
  await world.workers.runIs(runId)
  expect(await resultOf(runId)).toBe('five turns')
})

test('the pins of an agent that thinks are its model and the digest of its instructions', () => {
  expect(loopOf(agents.get('plain')!)).toEqual({ modelVersion: 'scripted-1', promptVersion: expect.stringMatching(/^[0-9a-f]{16}$/) as string })
  expect(loopOf({ run: () => Promise.resolve() })).toBeUndefined()
})
