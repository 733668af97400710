/** Agents with deliberately wrong tools, each of which a crash must bring to light; and a right one, of which it must not say anything. */
import { defineAgent, type AgentContext, type ToolCalls } from '@pawl/harness'
import { applied, defineTool, notApplied, type Tool, type ToolDefinition, type ToolMap } from '@pawl/tools'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { crashEverywhere, type CrashReport } from './crash-everywhere.ts'

vi.setConfig({ testTimeout: 120_000 })

let database: FreshDatabase
beforeAll(async () => { database = await freshDatabase() })
afterAll(() => database.drop())

type Input = { to: string; text?: string | undefined }

/** Where effects arrive: a list of mails, each with the key it came under. */
class Mailbox {
  readonly mails: { key: string; to: string }[] = []

  tool(name: string, definition: Partial<ToolDefinition<Input, string>> = {}): Tool<Input, string> {
    return defineTool<Input, string>({
      name, version: '1', description: 'Puts a mail into the box.', effect: 'non-idempotent', timeout: 300, settleWindow: 50,
      inputSchema: z.object({ to: z.string(), text: z.string().optional() }), outputSchema: z.string(),
      execute: ({ to }, { key }) => {
        if (definition.effect !== 'idempotent' || !this.has(key)) this.mails.push({ key, to })
        return Promise.resolve(`mail to ${to}`)
      },
      ...definition,
    })
  }

  has(key: string): boolean {
    return this.mails.some((mail) => mail.key === key)
  }

  /** Looks a call up by its key. */
  readonly verify: NonNullable<ToolDefinition<Input, string>['verify']> = ({ to }, { key }) => Promise.resolve(this.has(key) ? applied(`mail to ${to}`) : notApplied())
}

async function crash<M extends ToolMap>(name: string, tools: M, run: (tools: ToolCalls<M>, ctx: AgentContext) => Promise<void>, standIns: Partial<M> = {}): Promise<CrashReport> {
  const agent = defineAgent({
    name, version: '1', inputSchema: z.object({}), payloadSchema: z.null(), tools, policy: { maxFailures: 2 },
    run: async ({ tools: calls, ctx }) => { await run(calls, ctx) },
  })
  return await crashEverywhere(agent, {}, { databaseUrl: database.url, items: [{ key: 'only', payload: null }], tools: standIns })
}
const shown = (report: CrashReport): string[] => report.problems.map((problem) => `${problem.kind} ${problem.tool}`).toSorted()

test('of an agent whose tools are what they say nothing is reported, crashed at every place it comes by, and its real tools are left alone where they have stand-ins', async () => {
  const [box, real] = [new Mailbox(), new Mailbox()]
  const report = await crash('honest', {
    keyed: box.tool('keyed', { effect: 'idempotent', concurrent: true }), verified: box.tool('verified', { verify: box.verify }), asked: real.tool('asked'),
  }, async (tools) => {
    await tools.keyed({ to: 'ada' })
    await tools.verified({ to: 'grace' })
    await tools.asked({ to: 'edsger' })
  }, { asked: box.tool('asked') })
  expect(real.mails).toEqual([])
  expect(report.problems).toEqual([])
  expect(report.ok).toBe(true)
  for (const at of ['after-claim 1', 'before-intent 1', 'after-intent 2', 'before-send 3', 'after-answer 1', 'after-answer 2', 'after-answer 3', 'after-completion 3', 'before-finish 1', 'after-finish 1']) expect(report.crashes).toContain(at)
  expect(report.crashes).not.toContain('after-answer 4')
  // One undisturbed run and one for each crash that came to its end; none of them sent anything twice.
  expect(new Set(box.mails.map((mail) => mail.key)).size).toBe(box.mails.length)
})

test('a verify that says "not applied" of what was done, and one that says "applied" of what was never made, are caught lying', async () => {
  const box = new Mailbox()
  const report = await crash('liars', {
    forgetful: box.tool('forgetful', { verify: () => Promise.resolve(notApplied()) }), boastful: box.tool('boastful', { verify: () => Promise.resolve(applied('surely')) }),
  }, async (tools) => {
    await tools.forgetful({ to: 'ada' })
    await tools.boastful({ to: 'grace' })
  })
  expect(shown(report)).toEqual(['fires-twice forgetful', 'verify-lies boastful', 'verify-lies forgetful'])
  const lie = report.problems.find((problem) => problem.kind === 'verify-lies' && problem.tool === 'forgetful')
  expect(lie?.crashedAt).toEqual(['after-answer 1'])
  expect(lie?.fix).toContain('key')
})

test('a key that is another one after the crash is caught', async () => {
  const report = await crash('restless', { restless: new Mailbox().tool('restless', { key: () => [randomUUID()] }) }, async (tools) => { await tools.restless({ to: 'ada' }) })
  expect(shown(report)).toEqual(['key-changes restless'])
})

test('keys that collide are caught: of one call whose args change between attempts, and of two calls that a key does not tell apart', async () => {
  let n = 0
  const worded = await crash('worded', { worded: new Mailbox().tool('worded') }, async (tools) => { await tools.worded({ to: 'ada', text: `wording ${n++}` }) })
  expect(shown(worded)).toEqual(['key-collides worded'])
  expect(worded.problems[0]?.fix).toContain('ctx.record')
  const vague = await crash('vague', { vague: new Mailbox().tool('vague', { key: () => ['mail'] }) }, async (tools) => {
    await tools.vague({ to: 'ada' })
    await tools.vague({ to: 'grace' })
  })
  expect(vague.problems).toMatchObject([{ kind: 'key-collides', tool: 'vague', crashedAt: ['no crash'] }])
})

test('an agent that does more on a later attempt fires twice, and one that does less loses a call', async () => {
  const box = new Mailbox()
  const report = await crash('restarted', { eager: box.tool('eager', { verify: box.verify }), hasty: box.tool('hasty', { verify: box.verify }) }, async (tools, ctx) => {
    if (ctx.attempt === 1) await tools.hasty({ to: 'ada' })
    await tools.eager({ to: 'ada' })
    if (ctx.attempt > 1) await tools.eager({ to: 'sorry for the delay' })
  })
  expect(shown(report)).toEqual(['fires-twice eager', 'lost hasty'])
})

test('a run that does not end well by itself is no ground for crashes, and an agent without split needs items', async () => {
  await expect(crash('broken', {}, () => Promise.reject(new Error('always')))).rejects.toMatchObject({ code: 'CRASH_BASELINE' })
  const agent = defineAgent({ name: 'itemless', version: '1', inputSchema: z.object({}), payloadSchema: z.null(), tools: {}, run: () => Promise.resolve() })
  await expect(crashEverywhere(agent, {}, { databaseUrl: database.url })).rejects.toMatchObject({ code: 'ITEMS_NEEDED' })
})

test('without a database of the caller\'s the first item of the split is crashed on an embedded one, of which nothing is left', async () => {
  const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('pawl-crash-'))
  const before = leftovers()
  const payloads: number[] = []
  const agent = defineAgent({
    name: 'split', version: '1', inputSchema: z.object({ first: z.number() }), payloadSchema: z.number(), tools: {},
    *split({ first }) { for (let n = first; n < first + 3; n++) yield { key: `${n}`, payload: n } },
    run: ({ payload }) => { payloads.push(payload); return Promise.resolve() },
  })
  const report = await crashEverywhere(agent, { first: 7 })
  expect(report).toMatchObject({ ok: true, problems: [] })
  expect(report.crashes).toEqual(expect.arrayContaining(['after-claim 1', 'after-claim 2', 'before-finish 1', 'before-finish 2', 'after-finish 1']))
  expect(new Set(payloads)).toEqual(new Set([7]))
  expect(leftovers()).toEqual(before)
})
