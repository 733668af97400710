/**
 * What three deploys of one system have, as its `pawl.config` would say after each of them; `DEPLOYED` is the one that is loaded.
 * 1 → 2: a new agent version. 2 → 3: a payload of another shape, a letter keyed by whom it goes to alone, and an agent that no longer serves its first version.
 */
import type { AnyAgent } from '@pawl/harness'
import { applied, defineAgent, defineConfig, defineTool, notApplied } from '../index.ts'
import { z } from 'zod'

const inputSchema = z.object({ subject: z.string() })
const outputSchema = z.object({ ref: z.string() })
const at = (path: string): string => `${process.env['EFFECTS_URL'] ?? ''}/${path}`

/** The receiver deduplicates on the key: one that changes is a second letter. */
const letter = (version: string, key: (input: { subject: string }) => readonly string[]) => defineTool({
  name: 'letter.send', version, description: 'Sends a letter', effect: 'idempotent', concurrent: true, timeout: '60s', inputSchema, outputSchema, key,
  async execute({ subject }, call) {
    const response = await call.fetch(at(`keyed/letter/${subject}`), { method: 'POST', body: '{}', headers: { 'idempotency-key': call.key, 'x-epoch': String(call.epoch), 'x-attempt': String(call.attempt) } })
    if (response.status !== 200) throw new Error(`the post office answered ${response.status}`)
    return outputSchema.parse(await response.json())
  },
})
const letter1 = letter('1', ({ subject }) => [subject, 'welcome'])
const letter2 = letter('2', ({ subject }) => [subject])

/** The receiver carries out whatever arrives, and can be asked. */
const book = defineTool({
  name: 'desk.book', version: '1', description: 'Books a desk', effect: 'non-idempotent', timeout: '1s', settleWindow: '100ms', inputSchema, outputSchema,
  async execute({ subject }, call) {
    const response = await call.fetch(at(`lookup/desk/${subject}`), { method: 'POST', body: '{}', headers: { 'idempotency-key': call.key, 'x-epoch': String(call.epoch), 'x-attempt': String(call.attempt) } })
    if (response.status !== 200) throw new Error(`the desk answered ${response.status}`)
    return outputSchema.parse(await response.json())
  },
  async verify({ subject }, { key, fetch }) {
    const response = await fetch(at(`lookup/desk/${subject}`), { headers: { 'idempotency-key': key } })
    return response.status === 200 ? applied(outputSchema.parse(await response.json())) : notApplied()
  },
})

const began = { inputSchema: z.object({}), payloadSchema: z.object({ to: z.string() }) }
const now = { inputSchema: z.object({}), payloadSchema: z.object({ recipient: z.string() }), schemaVersion: 2, upcast: { 1: (payload: unknown) => ({ recipient: began.payloadSchema.parse(payload).to }) } }

const older = (version: string, serves: readonly string[]): AnyAgent => defineAgent({
  name: 'welcome', version, serves, ...began, policy: { maxConcurrency: 2 }, tools: { letter: letter1, book },
  async run({ payload: { to }, tools }) {
    await tools.letter({ subject: to })
    await tools.book({ subject: to })
  },
})
const newest = defineAgent({
  name: 'welcome', version: '3', serves: ['1', '2'], ...now, policy: { maxConcurrency: 2 }, tools: { letter: letter2, book }, previousTools: [letter1],
  async run({ payload: { recipient }, tools }) {
    await tools.letter({ subject: recipient })
    await tools.book({ subject: recipient })
  },
})
const alone = (version: string): AnyAgent => defineAgent({
  name: 'alone', version, ...began, tools: { letter: letter1 },
  async run({ payload: { to }, tools }) { await tools.letter({ subject: to }) },
})

const deployed: Readonly<Record<string, readonly AnyAgent[]>> = {
  1: [older('1', []), alone('1')],
  2: [older('2', ['1']), alone('1')],
  3: [newest, alone('3')],
}
export default defineConfig({ agents: deployed[process.env['DEPLOYED'] ?? '1'] ?? [] })
