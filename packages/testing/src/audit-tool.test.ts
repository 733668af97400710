/** Tools that are what they say, and tools that only say so: the audit tells them apart by what arrived. */
import { applied, defineTool, type ToolDefinition } from '@pawl/tools'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { auditTool, type ToolSandbox } from './audit-tool.ts'
import type { EffectClass } from './effects-log.ts'
import { startEffectsServer, type EffectsServer } from './effects-server.ts'

type Input = { subject: string }
let effects: EffectsServer
beforeAll(async () => { effects = await startEffectsServer() })
afterAll(() => effects.close())

/** Sends its key to an endpoint of that class, or a new one each time. */
const toolAt = (via: EffectClass, definition: Partial<ToolDefinition<Input, string>> = {}, keyOf = (key: string) => key) => defineTool<Input, string>({
  name: `at-${via}`, version: '1', description: 'One effect.', effect: 'idempotent', timeout: 5_000, inputSchema: z.object({ subject: z.string() }), outputSchema: z.string(), ...definition,
  async execute({ subject }, { key, fetch }) {
    const response = await fetch(`${effects.url}/${via}/do/${subject}`, { method: 'POST', body: '{}', headers: { 'idempotency-key': keyOf(key) } })
    if (response.status !== 200) throw new Error(`${response.status} says nothing`)
    return await response.text()
  },
})
const sandboxOf = (subject: string): ToolSandbox<Input> => ({ input: { subject }, count: () => effects.effects({ subject }) })
const kinds = (audit: { problems: readonly { kind: string }[] }): string[] => audit.problems.map((problem) => problem.kind)

test('a tool whose receiver deduplicates on its key, the call still running included, passes as concurrent', async () => {
  const audit = await auditTool(toolAt('keyed', { concurrent: true }), sandboxOf('honest'))
  expect(audit).toMatchObject({ ok: true, effects: { one: 1, again: 0, atOnce: 1 }, problems: [] })
})

test('a tool that makes a new key for each send is not idempotent', async () => {
  let n = 0
  const audit = await auditTool(toolAt('keyed', {}, () => `new-${n++}`), sandboxOf('keyless'))
  expect(audit).toMatchObject({ ok: false, effects: { one: 1, again: 1 } })
  expect(kinds(audit)).toEqual(['not-idempotent'])
  expect(audit.problems[0]?.fix).toContain('context.key')
})

test('a tool whose receiver looks first and acts later is idempotent, and not concurrent', async () => {
  effects.program('racy', [{}, {}, { delayBeforeMs: 200 }, { delayBeforeMs: 200 }])
  const audit = await auditTool(toolAt('racy', { concurrent: true }), sandboxOf('racy'))
  expect(audit.effects).toEqual({ one: 1, again: 0, atOnce: 2 })
  expect(kinds(audit)).toEqual(['not-concurrent'])
  effects.program('racy unclaimed', [{}, {}, { delayBeforeMs: 200 }, { delayBeforeMs: 200 }])
  expect((await auditTool(toolAt('racy'), sandboxOf('racy unclaimed'))).ok).toBe(true)
})

test('a "read" that writes is named, and a non-idempotent tool may do each call', async () => {
  expect(kinds(await auditTool(toolAt('opaque', { effect: 'read' }), sandboxOf('no read')))).toEqual(['not-a-read'])
  expect((await auditTool(toolAt('read', { effect: 'read' }), sandboxOf('true read'))).ok).toBe(true)
  const twice = await auditTool(toolAt('opaque', { effect: 'non-idempotent', verify: () => Promise.resolve(applied('x')) }), sandboxOf('twice'))
  expect(twice).toMatchObject({ ok: true, effects: { one: 1, again: 1, atOnce: 2 } })
})

test('an audit that counts nothing says that it proves nothing, with what the calls threw', async () => {
  effects.program('refusing', [{ refuse: 400 }, { refuse: 400 }, { refuse: 400 }, { refuse: 400 }])
  const audit = await auditTool(toolAt('keyed'), sandboxOf('refusing'))
  expect(kinds(audit)).toEqual(['nothing-counted'])
  expect(audit.errors).toHaveLength(4)
})

test('a transactional tool has nothing to audit', async () => {
  await expect(auditTool(toolAt('keyed', { effect: 'transactional' }), sandboxOf('tx'))).rejects.toMatchObject({ code: 'NOT_AUDITABLE' })
})
