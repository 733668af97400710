/**
 * A zod schema for somebody else's JSON schema. It validates and changes nothing: what was shown, approved and hashed is what is sent, defaults
 * are the receiver's business. The JSON schema itself is kept as the zod schema's metadata, so a model is shown the original.
 */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { z } from 'zod'

type JsonSchema = Readonly<Record<string, unknown>>
type Check = (value: unknown) => readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]

export function zodFromJsonSchema<T>(schema: JsonSchema): z.ZodType<T> {
  const check = checkWith(schema)
  const validated = z.unknown().superRefine((value, context) => {
    for (const { path, message } of check(value)) context.addIssue({ code: 'custom', path: [...path], message })
  })
  // `id` and `$id` would make zod look the schema up elsewhere.
  const { id: _id, $id: _uri, $schema: _dialect, ...shown } = schema
  return validated.meta(shown) as unknown as z.ZodType<T>
}

/** zod's reading names every field; what it cannot express (`not`, `if`, …) is validated by ajv, whose sentence names it. */
function checkWith(schema: JsonSchema): Check {
  try {
    const inner = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
    return (value) => inner.safeParse(value).error?.issues.map(({ path, message }) => ({ path, message })) ?? []
  } catch {
    const validate = new AjvJsonSchemaValidator().getValidator<unknown>(schema)
    return (value) => {
      const answer = validate(value)
      return answer.valid ? [] : [{ path: [], message: answer.errorMessage }]
    }
  }
}
