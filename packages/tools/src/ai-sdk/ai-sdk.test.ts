/** Tools written for the AI SDK taken in; and what may not be. How Pawl's tools behave in the SDK's own loop is in the harness's tests. */
import { asSchema, jsonSchema, tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { testContext } from '../fixtures/context.testsuite.ts'
import { fromAiSdk, toAiSdk, type PawlToolContext } from './index.ts'

const handling = { name: 'weather.read', version: '1', effect: 'read' } as const

test('a tool with a zod schema keeps its types, its words and its call, and gets the key where a call id would be', async () => {
  const seen: unknown[] = []
  const weather = tool({
    description: 'Weather at a place.', inputSchema: z.object({ place: z.string() }), outputSchema: z.object({ degrees: z.number() }),
    execute: async ({ place }, options) => {
      const { toolCallId, abortSignal } = options
      // One of them is there in `ai` 6, the other in `ai` 7.
      const { experimental_context: context6, context: context7 } = options as { experimental_context?: PawlToolContext; context?: PawlToolContext }
      seen.push(place, toolCallId, abortSignal?.aborted, context6?.key, context7?.key)
      return { degrees: 21 }
    },
  })
  const taken = fromAiSdk(weather, handling)
  expect(taken).toMatchObject({ description: 'Weather at a place.', name: 'weather.read', effect: 'read' })
  expect((await taken.execute({ place: 'Bern' }, testContext('pawl-1'))).degrees).toBe(21)
  expect(seen).toEqual(['Bern', 'pawl-1', false, 'pawl-1', 'pawl-1'])
  expect(taken.outputSchema.safeParse({ degrees: 'warm' }).success).toBe(false)
})

test('jsonSchema() is validated by what it describes, field by field, and shown to models as it is', () => {
  const shown = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] } as const
  const taken = fromAiSdk(tool({ inputSchema: jsonSchema<{ place: string }>(shown), execute: () => 'sunny' }), handling)
  expect(taken.inputSchema.safeParse({ place: 3 }).error?.issues[0]?.path).toEqual(['place'])
  expect(asSchema(taken.inputSchema as never).jsonSchema).toMatchObject(shown)
})

const upper = (isAsync: boolean) => ({
  '~standard': {
    version: 1 as const, vendor: 'own',
    validate: (value: unknown) => {
      const place = (value as { place?: unknown }).place
      const answer = typeof place === 'string' ? { value: { place: place.toUpperCase() } } : { issues: [{ message: 'no place', path: [{ key: 'place' }] }] }
      return isAsync ? Promise.resolve(answer) : answer
    },
    jsonSchema: { input: () => ({ type: 'object', properties: { place: { type: 'string' } } }), output: () => ({}) },
  },
})

test('any standard schema decides itself, and its value is what is sent', () => {
  const taken = fromAiSdk(tool({ inputSchema: upper(false) as never, execute: () => 'sunny' }), handling)
  expect(taken.inputSchema.parse({ place: 'bern' })).toEqual({ place: 'BERN' })
  expect(taken.inputSchema.safeParse({}).error?.issues[0]).toMatchObject({ path: ['place'], message: 'no place' })
  expect(asSchema(taken.inputSchema as never).jsonSchema).toMatchObject({ properties: { place: { type: 'string' } } })
})

test('a schema that validates asynchronously is refused at the call, by name', () => {
  const taken = fromAiSdk(tool({ inputSchema: upper(true) as never, execute: () => 'sunny' }), handling)
  expect(taken.inputSchema.safeParse({ place: 'bern' }).error?.issues[0]?.message).toContain('the own schema validates asynchronously')
})

test('a tool that streams gives its last part', async () => {
  const taken = fromAiSdk(tool({ inputSchema: z.object({}), async *execute() { yield 'thinking'; yield 'sunny' } }), handling)
  expect(await taken.execute({}, testContext())).toBe('sunny')
})

test.for<[string, Parameters<typeof fromAiSdk>[0], RegExp]>([
  ['no execute', tool({ inputSchema: z.object({}), outputSchema: z.string() }) as never, /has no execute/],
  ['a description made of what is not there yet', { ...tool({ inputSchema: z.object({}), execute: () => 1 }), description: () => 'words' } as never, /description is a function/],
  ['a needsApproval nobody would ask', tool({ inputSchema: z.object({}), needsApproval: () => true, execute: () => 1 }) as never, /needsApproval is a function/],
  ['a schema that is only promised', tool({ inputSchema: jsonSchema(Promise.resolve({ type: 'object' as const })), execute: () => 1 }) as never, /only promised/],
])('%s is refused at registration', ([, given, says]) => {
  expect(() => fromAiSdk(given, handling)).toThrow(says)
})

test('needsApproval: true means that a person is asked', () => {
  expect(fromAiSdk(tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 }), { ...handling, effect: 'non-idempotent' }).approval).toBe('always')
})

test('a definition is not a bracketed call: toAiSdk refuses it', () => {
  expect(() => toAiSdk({ weather: fromAiSdk(tool({ inputSchema: z.object({}), execute: () => 1 }), handling) })).toThrow(/Pass run's tools/)
})
