/** What is typed into a form is what is answered: nothing is guessed, rounded or left out. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fieldsOf, fill, type Field } from './question-fields.ts'

const schemaOf = (schema: z.ZodType): unknown => z.toJSONSchema(schema, { io: 'input' })
const kinds = (fields: readonly Field[]): [string | null, string, boolean][] => fields.map(({ name, kind, isRequired }) => [name, kind, isRequired])

describe('a flat schema', () => {
  const fields = fieldsOf(schemaOf(z.object({ decision: z.enum(['refund', 'refuse']), cents: z.number().int().min(0).max(500), share: z.number().optional(), note: z.string().max(400).optional(), tell: z.boolean(), when: z.array(z.string()).optional() })))

  test('has a field for each member, of its kind', () => {
    expect(kinds(fields)).toEqual([['decision', 'choice', true], ['cents', 'whole', true], ['share', 'number', false], ['note', 'long', false], ['tell', 'boolean', true], ['when', 'json', false]])
    expect(fields[1]?.description).toBe('at least 0 · at most 500')
  })

  test('is filled as typed; what is empty and not required is left away', () => {
    expect(fill(fields, new Map([['decision', '"refund"'], ['cents', '120'], ['tell', 'false'], ['when', '["now"]']]))).toEqual({ value: { decision: 'refund', cents: 120, tell: false, when: ['now'] }, wrong: new Map() })
  })

  test('a box nobody touched answers nothing, and what is wrong is said where it is', () => {
    const { value, wrong } = fill(fields, new Map([['decision', '"refund"'], ['cents', '1.5'], ['share', 'much'], ['when', '{']]))
    expect([value, [...wrong.keys()]]).toEqual([undefined, ['cents', 'share', 'tell', 'when']])
  })

  test('a number that a double would change is refused, not rounded', () => {
    const { wrong } = fill(fieldsOf(schemaOf(z.object({ id: z.number() }))), new Map([['id', '9007199254740993']]))
    expect(wrong.get('id')).toMatch(/9007199254740993/)
  })
})

test.each([
  ['a text', z.string(), 'text', 'ada', 'ada'], ['a number', z.number(), 'number', '-1.5e3', -1500], ['yes or no', z.boolean(), 'boolean', 'true', true],
  ['one of a list', z.enum(['a', 'b']), 'choice', '"b"', 'b'], ['a list', z.array(z.number()), 'json', '[1]', [1]], ['one of several shapes', z.union([z.string(), z.object({ a: z.number() })]), 'json', '{"a":1}', { a: 1 }],
] as const)('%s is one field', (_, schema, kind, typed, value) => {
  const fields = fieldsOf(schemaOf(schema))
  expect(kinds(fields)).toEqual([[null, kind, true]])
  expect(fill(fields, new Map([[null, typed]])).value).toEqual(value)
})

test('a text is taken as it is, also where it looks like JSON or holds what cannot be seen', () => {
  const fields = fieldsOf(schemaOf(z.object({ name: z.string() })))
  for (const text of ['{"a":1}', 'true', ' 7 ', 'a\u202Eb']) expect(fill(fields, new Map([['name', text]])).value).toEqual({ name: text })
})
