/** What the site's programs serve; in a process of its own this file is its `PAWL_CONFIG`. Where the outside is comes from `PAWL_SECURITY_OUTSIDE`, as JSON. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV3 } from '@ai-sdk/provider'
import { agentLoop, defineAgent, type AnyAgent } from '@pawl/harness'
import { defineTool } from '@pawl/tools'
import { httpRequest } from '@pawl/tools/http'
import { z } from 'zod'

const outside = z.object({
  /** Counts what reaches it. */
  receiver: z.string(),
  model: z.string(),
  /** Of the receiver: no value, never to be seen anywhere. */
  credential: z.string(),
  modelKey: z.string(),
}).parse(JSON.parse(process.env['PAWL_SECURITY_OUTSIDE'] ?? '{"receiver":"http://127.0.0.1:9","model":"http://127.0.0.1:9/v1","credential":"none","modelKey":"none"}'))

const anything = z.unknown()

/** Does nothing with whatever items it is given. */
const plain = defineAgent({ name: 'plain', version: '1', inputSchema: anything, payloadSchema: anything, tools: {}, run: () => Promise.resolve(undefined) })

const post = httpRequest({
  name: 'outside.post', method: 'POST', honoursKey: true, concurrent: true, allowPrivate: [new URL(outside.receiver).host], headers: () => ({ authorization: `Bearer ${outside.credential}` }),
})

/** Sends each item's value outside, and fails with it where that is asked for, as long as the outside says so. */
const courier = defineAgent({
  name: 'courier', version: '1', inputSchema: anything, payloadSchema: z.object({ value: z.string(), end: z.enum(['done', 'fail']) }), tools: { post },
  async run({ payload, tools }) {
    await tools.post({ url: `${outside.receiver}/effects`, body: { value: payload.value } })
    const { status } = await fetch(`${outside.receiver}/mood`)
    if (payload.end === 'fail' && status !== 200) throw new Error(`the receiver is in no mood for ${payload.value}`)
    return { result: { kept: payload.value } }
  },
})

const send = (path: string) => async ({ to }: { to: string }, context: { key: string; fetch: typeof fetch }) => {
  await context.fetch(`${outside.receiver}/${path}/${encodeURIComponent(to)}`, { method: 'POST', body: context.key })
  return { ok: true }
}
const shape = { inputSchema: z.object({ to: z.string() }), outputSchema: z.object({ ok: z.boolean() }), version: '1', effect: 'idempotent', concurrent: true } as const

/** Reads what strangers wrote, and may answer; it may not delete, and pays only with a person's yes. */
const clerk = defineAgent({
  name: 'clerk', version: '1', inputSchema: anything, payloadSchema: anything,
  tools: {
    letter: defineTool({ name: 'letter', version: '1', description: 'Reads the letter.', effect: 'read', inputSchema: z.object({}), outputSchema: z.object({ text: z.string() }), execute: async (_, { fetch: read }) => ({ text: await (await read(`${outside.receiver}/letter`)).text() }) }),
    answer: defineTool({ ...shape, name: 'answer', description: 'Answers the letter.', execute: send('answer') }),
    pay: defineTool({ ...shape, name: 'pay', description: 'Pays somebody.', approval: 'always', execute: send('pay') }),
    wipe: defineTool({ ...shape, name: 'wipe', description: 'Deletes everything.', execute: send('wipe') }),
  },
  run: agentLoop({
    model: () => createOpenAICompatible({ name: 'test', baseURL: outside.model, apiKey: outside.modelKey })('scripted-1') as LanguageModelV3,
    modelVersion: 'scripted-1', system: 'You answer letters.', tools: ['letter', 'answer', 'pay'], maxTurns: 8, patience: '20s',
  }),
})

export const agents: readonly AnyAgent[] = [plain, courier, clerk]
export default { agents }
