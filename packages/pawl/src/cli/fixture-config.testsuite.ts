/** The config the command's tests run with: one agent that is safe to repeat, one whose calls can fall in doubt, one that asks, one whose calls need a yes. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { defineAgent, defineConfig, defineTool } from '../index.ts'

const sent = (line: string): void => appendFileSync(join(process.env['FIXTURE_FOLDER'] ?? '.', 'sent.txt'), `${line}\n`)

const writeNote = defineTool({
  name: 'note.write', version: '1', description: 'Appends a line', effect: 'idempotent',
  inputSchema: z.object({ line: z.string() }), outputSchema: z.object({ length: z.number() }), key: ({ line }) => [line],
  async execute({ line }) {
    sent(line)
    return { length: line.length }
  },
})

const sendMail = defineTool({
  name: 'mail.send', version: '1', description: 'Sends a mail nobody can take back', effect: 'non-idempotent', timeout: '300ms', settleWindow: '100ms',
  inputSchema: z.object({ to: z.string() }), outputSchema: z.object({ id: z.string() }), key: ({ to }) => [to],
  async execute({ to }, { note }) {
    sent(to)
    await note({ gateway: 'accepted' })
    if (to.startsWith('doubt')) throw new Error('the connection broke')
    return { id: `id of ${to}` }
  },
})

const pay = defineTool({
  name: 'pay', version: '1', description: 'Moves money', effect: 'idempotent', approval: 'always', inputSchema: z.object({ to: z.string() }), outputSchema: z.null(),
  async execute({ to }) {
    sent(`paid ${to}`)
    return null
  },
})

export default defineConfig({ agents: [
  defineAgent({
    name: 'notes', version: '1', inputSchema: z.object({ lines: z.number() }), payloadSchema: z.object({ line: z.string() }), tools: { writeNote }, policy: { maxFailures: 1 },
    *split({ lines }) {
      for (let i = 1; i <= lines; i++) yield { key: `note ${i}`, payload: { line: `line ${i}` } }
    },
    async run({ payload, tools }) {
      if (payload.line === 'bad') throw new Error('this line cannot be written')
      return { result: await tools.writeNote(payload) }
    },
  }),
  defineAgent({
    name: 'mails', version: '2', inputSchema: z.object({}), payloadSchema: z.object({ to: z.string() }), tools: { sendMail },
    async run({ payload, tools }) {
      const { id } = await tools.sendMail(payload)
      return { resultRef: id }
    },
  }),
  defineAgent({
    name: 'asks', version: '1', inputSchema: z.object({}), payloadSchema: z.object({ what: z.string() }), tools: { writeNote },
    async run({ payload, tools, ctx }) {
      const { lines } = await ctx.ask(`How many lines about ${payload.what}?`, z.object({ lines: z.number().int().min(1).max(3) }))
      for (let i = 1; i <= lines; i++) await tools.writeNote({ line: `${payload.what} ${i}` })
      return { result: lines }
    },
  }),
  defineAgent({
    name: 'pays', version: '1', inputSchema: z.object({}), payloadSchema: z.object({ to: z.string() }), tools: { pay },
    async run({ payload, tools }) {
      await tools.pay(payload)
    },
  }),
] })
