/** A question's schema survives its way through the ledger: what an agent's zod schema takes is what the person's answer is held to. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answerSchemaOf, checkAnswer } from './answers.ts'

type Tree = { name: string; parts: Tree[] }
const tree: z.ZodType<Tree> = z.object({ name: z.string(), get parts() { return z.array(tree) } })

test.each<[string, z.ZodType, unknown[], unknown[]]>([
  ['yes or no', z.boolean(), [true, false], ['true', 1, null]],
  ['one of a list', z.enum(['wait', 'skip']), ['wait'], ['stop', 0]],
  ['an object', z.object({ amount: z.number().int().min(1), why: z.string().min(3).optional() }), [{ amount: 2 }, { amount: 2, why: 'yes' }, { amount: 2, more: 1 }], [{}, { amount: 0 }, { amount: 1.5 }, { amount: 2, why: 'no' }]],
  ['a strict object', z.strictObject({ a: z.string() }), [{ a: '' }], [{ a: '', b: 1 }]],
  ['a union told apart by a member', z.discriminatedUnion('k', [z.object({ k: z.literal('no') }), z.object({ k: z.literal('to'), to: z.email() })]), [{ k: 'no' }, { k: 'to', to: 'a@b.org' }], [{ k: 'to' }, { k: 'to', to: 'a' }]],
  ['a tuple', z.tuple([z.string(), z.number()]), [['a', 1]], [['a'], ['a', 1, 2], [1, 'a']]],
  ['a record', z.record(z.string(), z.number()), [{}, { a: 1 }], [{ a: 'x' }, []]],
  ['formats and patterns', z.object({ at: z.iso.datetime(), id: z.uuid(), url: z.url(), code: z.string().regex(/^a+$/) }).partial(), [{ at: '2026-01-01T00:00:00Z', code: 'aa' }], [{ at: 'monday' }, { id: 'x' }, { url: 'x' }, { code: 'b' }]],
  ['a value that is changed after it is taken in', z.string().trim().transform(Number), ['5'], [5]],
  ['a member with a default', z.object({ n: z.number().default(3) }), [{}, { n: 1 }], [{ n: 'x' }]],
  ['null or a text', z.string().nullable(), [null, 'x'], [1]],
  ['a tree', tree, [{ name: 'a', parts: [{ name: 'b', parts: [] }] }], [{ name: 'a', parts: [{ name: 1, parts: [] }] }]],
])('%s', (_, schema, takes, refuses) => {
  const text = answerSchemaOf(schema)
  for (const value of takes) expect(() => checkAnswer(text, value), JSON.stringify(value)).not.toThrow()
  for (const value of refuses) expect(() => checkAnswer(text, value), JSON.stringify(value)).toThrow(expect.objectContaining({ code: 'BAD_ANSWER' }))
})

test('a refusal names the member, what is expected there, and that nothing was written', () => {
  expect(() => checkAnswer(answerSchemaOf(z.object({ pay: z.object({ amount: z.number() }) })), { pay: { amount: 'ten' } })).toThrow(/^answer\.pay\.amount: .*number.*Nothing was written/)
  expect(() => checkAnswer(answerSchemaOf(z.unknown()), undefined)).toThrow(/a JSON value is needed/)
})

test('the order in which a schema is written does not make it another question', () => {
  expect(answerSchemaOf(z.object({ a: z.string(), b: z.number() }).meta({ description: 'x', title: 'y' }))).toBe(answerSchemaOf(z.object({ b: z.number(), a: z.string() }).meta({ title: 'y', description: 'x' })))
})

test.each<[string, z.ZodType]>([['a date object', z.date()], ['a bigint', z.bigint()], ['a map', z.map(z.string(), z.number())], ['nothing', z.undefined()]])('%s is refused when the question is asked', (_, schema) => {
  expect(() => answerSchemaOf(schema)).toThrow(expect.objectContaining({ code: 'BAD_QUESTION' }))
})
