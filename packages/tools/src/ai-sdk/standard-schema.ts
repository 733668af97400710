/** A zod schema around somebody's standard schema: its own validation decides, its paths name the fields, its value is what is sent. */
import { z } from 'zod'

type Answer =
  | { readonly issues?: undefined; readonly value: unknown }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] }

export interface StandardSchema {
  readonly '~standard': { readonly vendor: string; readonly validate: (value: unknown) => Answer | PromiseLike<Answer> }
}

export const isStandard = (schema: unknown): schema is StandardSchema => (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema

/** @param shown the JSON schema a model gets to see. */
export function zodFromStandard<T>(schema: StandardSchema, shown: Readonly<Record<string, unknown>>): z.ZodType<T> {
  const { id: _id, $id: _uri, $schema: _dialect, ...meta } = shown
  return z.unknown().transform((value, context): unknown => {
    const answer = schema['~standard'].validate(value)
    if ('then' in answer) {
      context.addIssue({ code: 'custom', message: `the ${schema['~standard'].vendor} schema validates asynchronously; a call's key is drawn at once, so it cannot be waited for` })
      return z.NEVER
    }
    if (!answer.issues) return answer.value
    for (const { message, path = [] } of answer.issues) context.addIssue({ code: 'custom', message, path: path.map((part) => (typeof part === 'object' ? part.key : part)) })
    return z.NEVER
  }).meta(meta) as unknown as z.ZodType<T>
}
