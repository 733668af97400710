import { defineTool } from '@pawl/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AgentDefinition } from './define-agent.ts'
import { encodeItems } from './encode-items.ts'

const tool = (name: string) => defineTool({ name, version: '1', description: '', effect: 'read', inputSchema: z.unknown(), outputSchema: z.unknown(), execute: () => Promise.resolve(null) })
const good: AgentDefinition<unknown, { n: number }, Record<string, ReturnType<typeof tool>>> = {
  name: 'mail.all', version: '1.0-a', inputSchema: z.unknown(), payloadSchema: z.object({ n: z.number() }), tools: { look: tool('look') }, run: () => Promise.resolve(),
}

describe('an agent', () => {
  test('with everything in order is registered, and cannot be changed afterwards', () => {
    const agent = defineAgent(good)
    expect(agent.kind).toBe('pawl.agent')
    expect(Object.isFrozen(agent)).toBe(true)
  })

  test.each([
    ['an empty name', { name: '' }, /name must be/],
    ['a name with a blank', { name: 'a b' }, /name must be/],
    ['a name of 65 characters', { name: 'a'.repeat(65) }, /name must be/],
    ['a version with a colon', { version: '1:2' }, /version "1:2"/],
    ['a served version that is none', { serves: ['2', ''] }, /version ""/],
    ['two tools of one name', { tools: { a: tool('same'), b: tool('same') } }, /tools\.a and tools\.b are both named "same"/],
    ['a tool that was not made by defineTool', { tools: { a: { name: 'a' } as never } }, /tools\.a is not a tool/],
    ['upcast with a gap', { schemaVersion: 3, upcast: { 1: (payload: unknown) => payload } }, /without a gap to schemaVersion 3/],
    ['an upcast past its schema', { upcast: { 1: (payload: unknown) => payload } }, /without a gap to schemaVersion 1/],
    ['a schema version 0', { schemaVersion: 0 }, /schemaVersion must be/],
    ['a version of a tool twice', { previousTools: [tool('look')] }, /look@1 is there twice/],
    ['maxFailures 0', { policy: { maxFailures: 0 } }, /maxFailures/],
    ['maxConcurrency 1.5', { policy: { maxConcurrency: 1.5 } }, /maxConcurrency/],
  ])('%s is refused, naming the field', (_, given, sentence) => {
    expect(() => defineAgent({ ...good, ...given })).toThrow(sentence)
  })
})

describe('items', () => {
  const agent = defineAgent(good)
  test('are kept as text the ledger gives back unchanged', () => {
    expect(encodeItems(agent, [{ key: 'a:b 😀', payload: { n: 1 } }])).toEqual([{ key: 'a:b 😀', payload: '{"n":1}' }])
  })

  test.each([
    ['an empty key', { key: '', payload: { n: 1 } }, 'BAD_ITEM_KEY', /Item 2/],
    ['a key with NUL', { key: 'a\u0000', payload: { n: 1 } }, 'BAD_ITEM_KEY', /Item 2/],
    ['a key of 301 characters', { key: 'k'.repeat(301), payload: { n: 1 } }, 'BAD_ITEM_KEY', /300/],
    ['a payload that does not fit', { key: 'k', payload: { n: 'one' } }, 'BAD_PAYLOAD', /"k": payload\.n/],
  ])('%s is refused, naming the item', (_, item, code, sentence) => {
    const encode = () => encodeItems(agent, [{ key: 'fine', payload: { n: 0 } }, item])
    expect(encode).toThrow(sentence)
    expect(encode).toThrow(expect.objectContaining({ code }))
  })

  test('a payload over its limit is refused with both sizes', () => {
    const any = defineAgent({ ...good, payloadSchema: z.unknown() })
    expect(() => encodeItems(any, [{ key: 'big', payload: 'x'.repeat(1_000_001) }])).toThrow(/payload of item "big" takes 1000003 bytes; the limit is 1000000/)
  })
})
