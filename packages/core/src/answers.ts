/**
 * What kind of answer a question takes. The schema travels as JSON Schema: it is recorded with the question, shown to whoever answers, and is what an
 * answer is checked against before it is written, by processes that do not have the agent's code. What JSON Schema cannot say (a `refine`, a date
 * object) can therefore not be promised to the person; schemas that have no JSON form are refused when the question is asked, not when it is answered.
 */
import { z } from 'zod'
import { canonical } from './codec.ts'
import { PawlError } from './errors.ts'

/** Text of the JSON Schema of what `schema` takes in; the same text whatever the order of its members. Throws `BAD_QUESTION`. */
export function answerSchemaOf(schema: z.ZodType): string {
  try {
    const text = canonical(z.toJSONSchema(schema, { io: 'input', override: ({ jsonSchema }) => { jsonSchema.required?.sort() } }))
    parserOf(text)
    return text
  } catch (cause) {
    throw new PawlError('BAD_QUESTION', `ctx.ask: the schema of the answer has no JSON Schema that an answer could be checked against (${cause instanceof Error ? cause.message : String(cause)}). Ask for plain JSON: text, numbers, booleans, enums, arrays and objects of them.`, 'fail', {}, { cause })
  }
}

/** Checks a value against the text of a JSON Schema. Throws `BAD_ANSWER`, naming the member and what is expected there. */
export function checkAnswer(schemaText: string, value: unknown): void {
  const parsed = parserOf(schemaText).safeParse(value)
  if (parsed.success && value !== undefined) return
  const issue = parsed.error?.issues[0]
  const where = ['answer', ...(issue?.path ?? [])].map(String).join('.')
  throw new PawlError('BAD_ANSWER', `${where}: ${issue?.message ?? 'a JSON value is needed'}. Nothing was written; the question takes ${schemaText.slice(0, 1_000)}.`, 'tell', { path: where })
}

const parserOf = (schemaText: string): z.ZodType => z.fromJSONSchema(JSON.parse(schemaText) as Parameters<typeof z.fromJSONSchema>[0])
