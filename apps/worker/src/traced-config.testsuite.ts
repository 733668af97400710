/** What the traced fleet serves: calls to the test's own server, one of which is never answered the first time, a model's decision, and a finalizer that calls too. */
import { agentLoop, defineAgent, defineConfig, type LoopOptions } from '@pawl/harness'
import { defineTool } from '@pawl/tools'
import { z } from 'zod'

const { TRACED_URL: url = '' } = process.env

const keyed = defineTool({
  name: 'traced.keyed', version: '1', description: 'Tells the test', effect: 'idempotent', keyWindow: '1h', timeout: '60s', concurrent: true,
  inputSchema: z.object({ about: z.string(), secret: z.string() }), outputSchema: z.object({ receipt: z.string() }),
  key: ({ about }) => [about],
  async execute({ about, secret }, { key, fetch }) {
    const response = await fetch(`${url}/call`, { method: 'POST', headers: { 'content-type': 'application/json', 'idempotency-key': key }, body: JSON.stringify({ about, secret, pid: process.pid }) })
    return z.object({ receipt: z.string() }).parse(await response.json())
  },
})

type Model = Exclude<LoopOptions['model'], () => unknown>
const model: Model = {
  specificationVersion: 'v3', provider: 'planned.chat', modelId: 'planned-1', supportedUrls: {},
  doStream: () => Promise.reject(new Error('the planned model does not stream')),
  doGenerate: () => Promise.resolve({
    content: [{ type: 'text', text: 'canary-answer' }], finishReason: { unified: 'stop', raw: undefined }, warnings: [],
    usage: { inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 10, text: 10, reasoning: 0 } },
  }),
}
const think = agentLoop({ model, system: 'canary-system' })

export default defineConfig({
  agents: [defineAgent({
    name: 'traced', version: '1', tools: { keyed },
    inputSchema: z.object({ items: z.array(z.string()), secret: z.string() }), payloadSchema: z.object({ about: z.string(), secret: z.string() }),
    *split({ items, secret }) { for (const about of items) yield { key: `canary-item-${about}`, payload: { about, secret } } },
    async run({ payload, tools, ctx }) {
      if (payload.about === 'think') return await think({ ctx })
      await tools.keyed({ about: `${payload.about} first`, secret: payload.secret })
      return { result: await tools.keyed({ about: payload.about, secret: payload.secret }) }
    },
    async finalize({ input, tools }) { await tools.keyed({ about: 'all', secret: input.secret }) },
  })],
})
