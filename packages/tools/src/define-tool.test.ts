import { PawlError } from '@pawl/core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool, type AnyTool, type ToolDefinition } from './define-tool.ts'
import { applied, notApplied, unknown } from './verdict.ts'

type Definition = ToolDefinition<{ n: number }, { ok: boolean }>
const definition: Definition = {
  name: 'stock.add',
  version: '1',
  description: 'Adds to the stock',
  effect: 'idempotent',
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.object({ ok: z.boolean() }),
  execute: async () => ({ ok: true }),
}
const define = (change: Partial<Definition>): AnyTool => defineTool({ ...definition, ...change })

function refusal(change: Partial<Definition>): PawlError {
  try {
    define(change)
  } catch (error) {
    if (error instanceof PawlError) return error
  }
  throw new Error('the definition was accepted')
}

describe('a definition that cannot keep the promise is refused with its field and the way out', () => {
  const verify = async () => notApplied()
  const cases: [string, Partial<Definition>, string, RegExp][] = [
    ['an empty name', { name: '' }, 'BAD_TOOL_NAME', /name must be 1-100 characters/],
    ['a name in capitals', { name: 'Stock.Add' }, 'BAD_TOOL_NAME', /a-z, 0-9/],
    ['a name with a colon', { name: 'stock:add' }, 'BAD_TOOL_NAME', /name/],
    ['a name that ends in a dot', { name: 'stock.' }, 'BAD_TOOL_NAME', /end with a letter or digit/],
    ['a name of 101 characters', { name: 'a'.repeat(101) }, 'BAD_TOOL_NAME', /1-100/],
    ['no version', { version: '' }, 'BAD_TOOL', /Write version: "1"/],
    ['a read with an undo', { effect: 'read', undo: { tool: define({ name: 'x' }), input: () => ({}) } }, 'BAD_TOOL_UNDO', /Remove undo, or correct the effect/],
    ['a transactional tool with verify', { effect: 'transactional', verify }, 'BAD_TOOL_VERIFY', /Remove verify/],
    ['concurrent on a non-idempotent tool', { effect: 'non-idempotent', concurrent: true }, 'BAD_TOOL', /concurrent.*"idempotent" only/],
    ['precondition on a read', { effect: 'read', precondition: true }, 'BAD_TOOL', /precondition/],
    ['keyWindow on a transactional tool', { effect: 'transactional', keyWindow: '1h' }, 'BAD_TOOL', /keyWindow/],
    ['a guarded transactional tool', { effect: 'transactional', guarded: true }, 'BAD_TOOL', /Remove guarded/],
    ['an undo that cannot be settled', { undo: { tool: define({ name: 'un', effect: 'non-idempotent' }), input: () => ({}) } }, 'BAD_TOOL_UNDO', /Give the undo a verify or a key/],
    ['an undo that only reads', { undo: { tool: define({ name: 'un', effect: 'read' }), input: () => ({}) } }, 'BAD_TOOL_UNDO', /only reads/],
    ['an irreversible tool that does not say whether a person is asked', { irreversible: true }, 'BAD_TOOL_APPROVAL', /irreversible.*approval: "always", "never"/],
    ['an approval that is no policy', { approval: true as never }, 'BAD_TOOL_APPROVAL', /"never", "always" or a function/],
    ['an irreversible read', { effect: 'read', irreversible: true, approval: 'never' }, 'BAD_TOOL', /a read changes nothing/],
    ['a staged read', { effect: 'read', stage: true }, 'BAD_TOOL', /neither irreversible nor held back/],
    ['an undo that is staged', { undo: { tool: define({ name: 'un', stage: true }), input: () => ({}) } }, 'BAD_TOOL_UNDO', /is staged/],
    ['a timeout that is no duration', { timeout: 'soon' }, 'BAD_DURATION', /"stock.add" timeout.*"20s"/],
    ['a negative settleWindow', { settleWindow: -1 }, 'BAD_DURATION', /settleWindow/],
    ['a timeout of 30 days, which a timer would make a millisecond (case 73)', { timeout: '30d' }, 'BAD_DURATION', /timeout is at most 10 days, and "30d" is more/],
    ['a settleWindow of 30 days', { settleWindow: '30d' }, 'BAD_DURATION', /settleWindow is at most 10 days/],
    ['a keyWindow that is no duration', { keyWindow: 'a day or so' }, 'BAD_DURATION', /keyWindow/],
  ]
  for (const [title, change, code, sentence] of cases) {
    it(title, () => {
      const error = refusal(change)
      expect(error.code).toBe(code)
      expect(error.message).toMatch(sentence)
    })
  }

  it('names the tool in the details and stops the program', () => {
    expect(refusal({ version: '' })).toMatchObject({ next: 'crash', details: { tool: 'stock.add' } })
  })
})

describe('a definition that is accepted', () => {
  it('gets its defaults and cannot be changed afterwards', () => {
    const tool = define({})
    expect(tool).toMatchObject({ kind: 'pawl.tool', timeoutMs: 30_000, settleWindowMs: 30_000, keyWindowMs: undefined, retry: { attempts: 3, backoff: 'exponential' } })
    expect(Object.isFrozen(tool)).toBe(true)
  })

  it('keeps what it says, durations in milliseconds', () => {
    expect(define({ timeout: '20s', settleWindow: 0, keyWindow: '24h', retry: { attempts: 5 } })).toMatchObject({
      timeoutMs: 20_000, settleWindowMs: 0, keyWindowMs: 86_400_000, retry: { attempts: 5, firstDelayMs: 200 },
    })
  })

  it('a non-idempotent undo with verify', () => {
    const undo = define({ name: 'un', effect: 'non-idempotent', verify: async () => unknown('later') })
    expect(define({ undo: { tool: undo, input: () => ({ n: 1 }) } }).undo?.tool).toBe(undo)
  })
})

it('verdicts are plain values', () => {
  expect([applied(1), notApplied(), unknown(), unknown('why')]).toEqual([
    { verdict: 'applied', result: 1 }, { verdict: 'notApplied' }, { verdict: 'unknown' }, { verdict: 'unknown', reason: 'why' },
  ])
})
