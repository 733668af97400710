import { asSchema } from 'ai'
import { expect, test } from 'vitest'
import { zodFromJsonSchema } from './json-schema.ts'

const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { path: { type: 'string' }, edits: { type: 'array', items: { type: 'object', properties: { old: { type: 'string' } }, required: ['old'] } }, dryRun: { type: 'boolean', default: false } }, required: ['path'] }

test('an input error names the field, however deep', () => {
  const paths = zodFromJsonSchema(schema).safeParse({ edits: [{ old: 'a' }, { old: 7 }] }).error?.issues.map((issue) => issue.path.join('.'))
  expect(paths).toEqual(expect.arrayContaining(['path', 'edits.1.old']))
})

test('what was shown is what is sent: no default is filled in, no key is dropped, nothing is coerced', () => {
  const input = { path: 'a', extra: { kept: true } }
  expect(zodFromJsonSchema(schema).parse(input)).toEqual(input)
  expect(zodFromJsonSchema(schema).safeParse({ path: 'a', dryRun: 'false' }).success).toBe(false)
})

test('what zod cannot express is validated all the same, and the error names the field', () => {
  const { $schema: _dialect, ...modern } = schema
  const conditional = zodFromJsonSchema({ ...modern, dependentRequired: { path: ['dryRun'] } })
  expect(conditional.safeParse({ path: 'a', dryRun: true }).success).toBe(true)
  expect(conditional.safeParse({ path: 'b' }).error?.issues[0]?.message).toContain('dryRun')
})

test('a model is shown the schema its author wrote', () => {
  const { $schema: _dialect, ...shown } = schema
  expect(asSchema(zodFromJsonSchema(schema) as never).jsonSchema).toMatchObject(shown)
})
