/**
 * A zod schema for somebody else's JSON schema. It validates and changes nothing: what was shown, approved and hashed is what is sent, defaults
 * are the receiver's business. The JSON schema itself is kept as the zod schema's metadata, so a model is shown the original.
 */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { z } from 'zod'

type JsonSchema = Readonly<Record<string, unknown>>
type Check = (value: unknown) => readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]

/** Throws when neither validator can read the schema. */
export function zodFromJsonSchema<T>(schema: JsonSchema): z.ZodType<T> {
  const check = checkWith(schema)
  const validated = z.unknown().superRefine((value, context) => {
    for (const { path, message } of check(value)) context.addIssue({ code: 'custom', path: [...path], message })
  })
  // `id` and `$id` would make zod look the schema up elsewhere.
  const { id: _id, $id: _uri, $schema: _dialect, ...shown } = schema
  return validated.meta(shown) as unknown as z.ZodType<T>
}

/** ajv decides: zod's reading passes over keywords it does not know. zod names every field, so where both refuse its issues are shown. */
function checkWith(schema: JsonSchema): Check {
  const [strict, named] = [checkWithAjv, checkWithZod].map((make) => {
    try {
      return make(schema)
    } catch (error) {
      return error as Error
    }
  }) as [Check | Error, Check | Error]
  if (strict instanceof Error) {
    if (named instanceof Error) throw strict
    return named
  }
  return (value) => {
    const refused = strict(value)
    if (refused.length === 0 || named instanceof Error) return refused
    const issues = named(value)
    return issues.length > 0 ? issues : refused
  }
}

function checkWithZod(schema: JsonSchema): Check {
  const inner = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  return (value) => inner.safeParse(value).error?.issues.map(({ path, message }) => ({ path, message })) ?? []
}

function checkWithAjv(schema: JsonSchema): Check {
  const validate = new AjvJsonSchemaValidator().getValidator<unknown>(schema)
  return (value) => {
    const answer = validate(value)
    return answer.valid ? [] : [{ path: [], message: answer.errorMessage }]
  }
}
