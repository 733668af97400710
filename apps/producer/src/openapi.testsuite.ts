/** The API's description as a test reads it: which operation an exchange belongs to, and whether request and answer fit it. */
import { z } from 'zod'

const schema = z.record(z.string(), z.unknown())
const content = z.record(z.string(), z.object({ schema }).loose())
const operation = z.object({
  operationId: z.string(), summary: z.string().min(5),
  parameters: z.array(z.object({ name: z.string(), in: z.string(), required: z.boolean().optional() }).loose()).default([]),
  requestBody: z.object({ content }).loose().optional(),
  responses: z.record(z.string(), z.object({ content: content.optional() }).loose()),
}).loose()
const documentSchema = z.object({ openapi: z.string(), paths: z.record(z.string(), z.record(z.string(), operation)) }).loose()

export type ApiDocument = z.infer<typeof documentSchema>

export interface Exchange {
  readonly method: string
  readonly url: URL
  readonly body: unknown
  readonly status: number
  readonly type: string
  /** Text of the answer. */
  readonly answer: string
}

export const readDocument = (text: string): ApiDocument => documentSchema.parse(JSON.parse(text))

export const operationsOf = ({ paths }: ApiDocument): { method: string; path: string; operationId: string }[] =>
  Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, { operationId }]) => ({ method: method.toUpperCase(), path, operationId })))

const pattern = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

/** Its operation, and what does not fit; fixed paths come before those with parameters, as in the app. */
export function judge(document: ApiDocument, { method, url, body, status, type, answer }: Exchange): { operationId: string; wrong: string[] } {
  const path = Object.keys(document.paths).toSorted((a, b) => a.split('{').length - b.split('{').length).find((each) => pattern(each).test(url.pathname) && document.paths[each]?.[method.toLowerCase()])
  const found = path === undefined ? undefined : document.paths[path]?.[method.toLowerCase()]
  if (found === undefined) return { operationId: '', wrong: [`${method} ${url.pathname} is not in the document`] }
  const names = new Set(found.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name))
  const wrong = [...url.searchParams.keys()].filter((name) => !names.has(name)).map((name) => `query ${name} is not in the document`)
  if (status < 400 && body !== undefined && typeof body === 'object') wrong.push(...misfits('body', found.requestBody?.content['application/json']?.schema, body))
  const answers = (found.responses[String(status)] ?? found.responses['default'])?.content?.[type]?.schema
  if (type === 'application/x-ndjson') for (const line of answer.split('\n').filter((text) => text !== '')) wrong.push(...misfits('line', answers, JSON.parse(line)))
  else wrong.push(...misfits(`answer ${status} ${type}`, answers, JSON.parse(answer)))
  return { operationId: found.operationId, wrong }
}

/** Made once each: making one takes longer than a hundred uses of it. */
const parsers = new WeakMap<object, z.ZodType>()

function misfits(what: string, given: Record<string, unknown> | undefined, value: unknown): string[] {
  if (given === undefined) return [`${what}: the document has no schema for it`]
  const parser = parsers.get(given) ?? z.fromJSONSchema(given as Parameters<typeof z.fromJSONSchema>[0])
  parsers.set(given, parser)
  const parsed = parser.safeParse(value)
  return parsed.success ? [] : parsed.error.issues.slice(0, 3).map((issue) => `${what}.${issue.path.join('.')}: ${issue.message}`)
}
