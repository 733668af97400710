/**
 * One way to declare a route: its scope, what it takes and what it answers, said once, for the handler's types, the check and the OpenAPI document.
 * Hono's own validators are not used for bodies: they parse before the body's size, time, depth and numbers were looked at.
 */
import type { HttpBindings } from '@hono/node-server'
import { z, type OpenAPIHono } from '@hono/zod-openapi'
import { createClient, type PawlClient } from '@pawl/client'
import { PawlError, readTraceParent } from '@pawl/core'
import type { Context } from 'hono'
import type { Services } from './app.ts'
import { problemSchema } from './problems.ts'
import { hasBody, readJson } from './read-json.ts'
import { actingFor, authenticate, requireScope, type Caller, type Scope } from './tokens.ts'

export type AppEnv = { Bindings: HttpBindings; Variables: { route?: string } }
export type App = OpenAPIHono<AppEnv>

export interface RouteCall<P, Q, B> {
  readonly c: Context<AppEnv>
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly caller: Caller
  /** In the caller's namespace and name. */
  readonly pawl: PawlClient
}

export interface Route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly method: 'get' | 'post'
  /** With `{name}` for parameters. */
  readonly path: string
  readonly scope: Scope
  readonly summary: string
  readonly params?: P
  readonly query?: Q
  /** Absent: the handler reads the body itself, or there is none. */
  readonly body?: B
  /** For the document: what a handler that reads the body itself takes. */
  readonly bodies?: Readonly<Record<string, { schema: z.ZodType }>>
  /** `status`: of an answer that made something new; 200 is among the answers then, too. `also`: under other types, as they are asked for. */
  readonly answer: { readonly description: string; readonly type?: string; readonly status?: 201 | 202; readonly schema: z.ZodType; readonly also?: Readonly<Record<string, { schema: z.ZodType }>> }
  /** For the document: an Idempotency-Key is honoured. */
  readonly takesKey?: boolean
  readonly handle: (call: RouteCall<z.infer<P>, z.infer<Q>, z.infer<B>>) => Promise<Response>
}

const none = z.object({})

export function addRoute<P extends z.ZodType = typeof none, Q extends z.ZodType = typeof none, B extends z.ZodType = typeof none>(app: App, services: Services, route: Route<P, Q, B>): void {
  document(app, route)
  app.on(route.method, route.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (c) => {
    c.set('route', route.path)
    const token = authenticate(services.tokens, c.req.header('authorization'))
    requireScope(token, route.scope)
    const caller = actingFor(token, c.req.header('pawl-actor'))
    const { ledger, agents, dispatch, onDispatchError, streamAliveMs, queues, onBulk } = services
    return await route.handle({
      c, caller,
      params: check('path', route.params ?? none, c.req.param()) as z.infer<P>,
      query: check('query', route.query ?? none, queryOf(c)) as z.infer<Q>,
      body: (route.body === undefined ? {} : check('body', route.body, await bodyOf(c))) as z.infer<B>,
      pawl: createClient({
        ledger, agents, namespace: caller.namespace, actor: caller.name, dispatch, onDispatchError, streamAliveMs, queues, onBulk, traceParent: c.req.header('traceparent'),
        onStarted: ({ id }, traceParent) => services.log.info({ run: id, by: caller.name, trace: readTraceParent(traceParent)?.traceId }, 'run started'),
      }),
    })
  })
}

/** A parameter given several times is a list; its schema says whether that is taken. */
function queryOf(c: Context<AppEnv>): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] ?? '' : values]))
}

/** An empty body stands for an empty object. */
async function bodyOf(c: Context<AppEnv>): Promise<unknown> {
  if (!hasBody(c.env.incoming)) return {}
  requireType(c, 'application/json')
  return await readJson(c.env.incoming)
}

export function requireType(c: Context<AppEnv>, type: string): void {
  const given = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  const encoding = c.req.header('content-encoding')
  if (given !== type || (encoding !== undefined && encoding !== 'identity')) {
    throw new PawlError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${type}, not compressed. Set Content-Type: ${type}.`)
  }
}

export function check<S extends z.ZodType>(what: string, schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new PawlError('BAD_REQUEST', `${[what, ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'does not fit'}. The API is described at /docs.`)
}

const headers = {
  actor: z.object({ 'pawl-actor': z.string().optional().openapi({ description: 'In whose name this is asked: named in the events. Only of a token with the scope `delegate`.' }) }),
  key: z.object({ 'idempotency-key': z.string().optional().openapi({ description: 'The same key and request again is the same thing; the same key with another request is refused (`IDEMPOTENCY_CONFLICT`). 1 to 255 characters, per namespace.' }) }),
  seen: z.object({ 'last-event-id': z.string().optional().openapi({ description: 'The id of the last event that was seen: the stream goes on after it.' }) }),
}

function document<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(app: App, route: Route<P, Q, B>): void {
  const bodies = route.bodies ?? (route.body === undefined ? undefined : { 'application/json': { schema: route.body } })
  const { status, description, type = 'application/json', schema, also = {} } = route.answer
  const content = { [type]: { schema }, ...also }
  app.openAPIRegistry.registerPath({
    method: route.method, path: route.path, summary: route.summary, operationId: operationIdOf(route), security: [{ token: [route.scope] }],
    request: {
      ...(route.params instanceof z.ZodObject ? { params: route.params } : {}),
      ...(route.query instanceof z.ZodObject ? { query: route.query } : {}),
      headers: headers.actor.extend({ ...(route.takesKey ? headers.key.shape : {}), ...(type === 'text/event-stream' ? headers.seen.shape : {}) }),
      ...(bodies === undefined ? {} : { body: { content: bodies } }),
    },
    responses: {
      200: { description, content },
      ...(status === undefined ? {} : { [status]: { description, content } }),
      default: { description: 'A refusal: `code` is stable, `detail` says what to do.', content: { 'application/problem+json': { schema: problemSchema } } },
    },
  })
}

/** `get v1 runs run items`, in words that generators of clients can use. */
function operationIdOf({ method, path }: { readonly method: string; readonly path: string }): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'v1').map((part) => (part.startsWith('{') ? `of_${part.slice(1, -1)}` : part.replaceAll(/\W+/g, '_')))
  return [method, ...parts].join('_')
}

/** For the document only: a route without the API's checks, which writes its own answer. */
export function documentPlain(app: App, path: string, summary: string, type: string): void {
  app.openAPIRegistry.registerPath({ method: 'get', path, summary, operationId: operationIdOf({ method: 'get', path }), responses: { 200: { description: summary, content: { [type]: { schema: z.string() } } } } })
}
