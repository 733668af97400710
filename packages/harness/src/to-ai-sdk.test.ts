/** Pawl's tools in somebody else's loop: `generateText` inside an agent's `run`, with the model asked again on every attempt. */
import { generateText, stepCountIs } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toAiSdk } from '../../tools/src/ai-sdk/index.ts'
import { Scripts } from './scripted.testsuite.ts'
import { World, type EffectTool, type ToolClass } from './world.testsuite.ts'

let world: World
let scripts: Scripts<Record<ToolClass, EffectTool>>

beforeAll(async () => {
  world = await World.open((tools) => {
    scripts = new Scripts(tools)
    return [scripts.agent]
  })
})
afterAll(() => world.close())

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }
let requests = 0

/** Calls `opaque` once, under another call id on every request, and then says what it was told. */
const model = (subject: string) => new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const result = prompt.flatMap((message) => (message.role === 'tool' ? message.content : [])).find((part) => part.type === 'tool-result')
    const content = result
      ? [{ type: 'text' as const, text: JSON.stringify(result) }]
      : [{ type: 'tool-call' as const, toolCallId: `call-${++requests}`, toolName: 'opaque', input: JSON.stringify({ subject }) }]
    return { content, finishReason: { unified: result ? 'stop' as const : 'tool-calls' as const, raw: undefined }, usage, warnings: [] }
  },
})

test('each call goes through the bracket: a model asked again under another call id gets the recorded result, and one effect stands', async () => {
  let attempts = 0
  const runId = await scripts.start(world, { run: async ({ tools, ctx }) => {
    const { text } = await generateText({ model: model('foreign'), prompt: 'go', tools: toAiSdk(tools), stopWhen: stepCountIs(3), maxRetries: 0, abortSignal: ctx.signal })
    if (++attempts === 1) throw new Error('the attempt fails after the call')
    return { result: text }
  } })
  expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  expect(attempts).toBe(2)
  expect(requests).toBe(2)
  expect(world.effects.receipts({ subject: 'foreign' })).toHaveLength(1)
  const actions = await world.actions(runId)
  expect(actions).toMatchObject([{ tool: 'opaque', status: 'committed' }])
  expect(actions[0]?.key).not.toContain('call-')
  expect((await world.item(runId)).result).toContain(JSON.parse(actions[0]?.result ?? '{}').ref)
})

test('a call that waits for a person keeps its promise open in the loop too: the attempt ends, and the answer is what the model gets', async () => {
  world.effects.program('asked', [{ drop: 'after' }])
  const runId = await scripts.start(world, { run: async ({ tools }) => ({ result: (await generateText({ model: model('asked'), prompt: 'go', tools: toAiSdk(tools), stopWhen: stepCountIs(3), maxRetries: 0 })).text }) })
  await world.answer(runId, 'happened', '{"ref":"seen by ann"}')
  expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  expect((await world.item(runId)).result).toContain('seen by ann')
  expect(world.effects.receipts({ subject: 'asked' })).toHaveLength(1)
})
