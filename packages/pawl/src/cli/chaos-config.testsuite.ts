/** An agent for `pawl chaos` whose tool calls itself idempotent and is not: its receiver acts first, answers a good second later, and keeps no key in mind. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { defineAgent, defineConfig, defineTool } from '../index.ts'

const slowWrite = defineTool({
  name: 'slow.write', version: '1', description: 'Appends a line, slowly', effect: 'idempotent', concurrent: true,
  inputSchema: z.object({ line: z.string() }), outputSchema: z.object({}), key: ({ line }) => [line],
  async execute({ line }, { key }) {
    appendFileSync(join(process.env['FIXTURE_FOLDER'] ?? '.', 'receipts.ndjson'), `${JSON.stringify({ operation: 'slow.write', subject: line, key })}\n`)
    await sleep(1_200)
    return {}
  },
})

export default defineConfig({ agents: [defineAgent({
  name: 'slow', version: '1', inputSchema: z.object({ lines: z.number() }), payloadSchema: z.object({ line: z.string() }), tools: { slowWrite },
  *split({ lines }) {
    for (let i = 1; i <= lines; i++) yield { key: `line ${i}`, payload: { line: `line ${i}` } }
  },
  run: async ({ payload, tools }) => ({ result: await tools.slowWrite(payload) }),
})] })
