/**
 * `http.request`: one HTTP request per call, as a tool.
 *
 * The method decides the effect class. GET and HEAD are `read`. Everything else changes the world once per request as
 * far as HTTP promises anything useful to us (a repeated PUT may overwrite something newer, a repeated DELETE may delete
 * its successor), so it is `non-idempotent`, unless the operator states that the receiver deduplicates on the key header:
 * then it is `idempotent`, and `concurrent` if that also holds for two requests at once.
 *
 * What proves that *this* request had no effect (`NotApplied`): nothing of it was written (refused or failed connection,
 * refused address), or one of the answers 400, 401, 403, 405, 413, 415, 422, or 429 with Retry-After. Not 404, 408, 409,
 * 410, 412, 423, 425 and no 5xx: a receiver that applied the request may answer a copy of it, or give up after the fact,
 * with any of these. Everything else (resets, timeouts, unreadable answers) is a plain error: unsettled.
 */
import { NotApplied, PawlError, type Duration } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type ExecuteContext, type Tool, type ToolDefinition } from '../define-tool.ts'
import { createGuardedFetch } from '../guarded-fetch.ts'
import { NotSent } from '../not-sent.ts'
import { createAddressAgent } from './address-policy.ts'
import { httpInputSchema, requestBody, requestUrl, type HttpInput } from './http-input.ts'
import { readResult, retryAfterMs, type HttpResult } from './http-response.ts'

export type { HttpInput, HttpResult }
export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface HttpRequestOptions extends Pick<ToolDefinition<HttpInput, HttpResult>, 'key' | 'timeout' | 'retry' | 'verify' | 'settleWindow' | 'undo'> {
  readonly method: HttpMethod
  /** Default `http.get`, `http.post`… */
  readonly name?: string
  readonly version?: string
  readonly description?: string
  /** `api.example.com`, `*.example.com`. Default: every public host. */
  readonly allowHosts?: readonly string[]
  /** `host:port` pairs that may be loopback or private: internal services, tests. */
  readonly allowPrivate?: readonly string[]
  /** Credentials and the like, added to every request and never kept. */
  readonly headers?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** The receiver deduplicates on the key header: a repeated request with the same key has no second effect. */
  readonly honoursKey?: boolean
  /** It does so for two requests at the same time, too. */
  readonly concurrent?: boolean
  /** How long it remembers a key. Default: for ever. */
  readonly keyWindow?: Duration
  readonly idempotencyHeader?: string
  /** What a 2xx answer carries. Default `json`; an answer that is not JSON leaves the call unsettled. */
  readonly response?: 'json' | 'text'
  /** Default 1 MB. Of longer answers only status and headers are kept. */
  readonly maxResponseBytes?: number
  /** Further status codes that mean "done", for instance 404 for a DELETE. */
  readonly alsoOk?: readonly number[]
}

/** Answers that precede carrying out the request. */
export const provesNotApplied = new Set([400, 401, 403, 405, 413, 415, 422])

const resultSchema: z.ZodType<HttpResult> = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.unknown(),
  bodyTruncated: z.boolean(),
})

export function httpRequest(options: HttpRequestOptions): Tool<HttpInput, HttpResult> {
  const { method, honoursKey = false } = options
  const name = options.name ?? `http.${method.toLowerCase()}`
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && honoursKey) throw new PawlError('BAD_TOOL', `Tool "${name}": a ${method} reads; honoursKey is for methods that change something. Remove it.`, 'crash', { tool: name })
  const allowPrivate = new Set(options.allowPrivate)
  const agent = createAddressAgent(allowPrivate)
  const { key, timeout, retry, verify, settleWindow, undo, concurrent, keyWindow } = options

  return defineTool<HttpInput, HttpResult>({
    name,
    version: options.version ?? '1',
    description: options.description ?? `Sends one HTTP ${method} request and returns status, headers and body.`,
    effect: isRead ? 'read' : honoursKey ? 'idempotent' : 'non-idempotent',
    guarded: true,
    inputSchema: httpInputSchema({ allowHosts: options.allowHosts, allowPrivate }, !isRead),
    outputSchema: resultSchema,
    ...given({ key, timeout, retry, verify, settleWindow, undo, concurrent, keyWindow }),
    async execute(input, context) {
      const fetch = createGuardedFetch({ guard: () => context.guard(), signal: context.signal, dispatcher: agent })
      const headers = await requestHeaders(options, input, context, isRead)
      const { body } = requestBody(input)
      const response = await sendOnce(fetch, requestUrl(input), { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) })
      return judge(response, options)
    },
  })
}

/** Only the options that were given: a definition distinguishes "not said" from `undefined`. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

async function requestHeaders(options: HttpRequestOptions, input: HttpInput, context: ExecuteContext, isRead: boolean): Promise<Headers> {
  const headers = new Headers(input.headers)
  const { contentType } = requestBody(input)
  if (contentType) headers.set('content-type', contentType)
  for (const [name, value] of Object.entries(await configuredHeaders(options))) headers.set(name, value)
  if (!isRead) headers.set(options.idempotencyHeader ?? 'Idempotency-Key', context.key)
  return headers
}

async function configuredHeaders(options: HttpRequestOptions): Promise<Readonly<Record<string, string>>> {
  try {
    return (await options.headers?.()) ?? {}
  } catch (cause) {
    throw new NotApplied('nothing was sent: the headers option failed.', { cause })
  }
}

/** A failure before the first byte is proof; after it there is none. */
async function sendOnce(fetch: ReturnType<typeof createGuardedFetch>, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof NotSent || fetch.requestsSent > 0) throw error
    throw new NotApplied(`${init.method} ${url.host} was not sent: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message || ((cause as NodeJS.ErrnoException).code ?? cause.name) : String(cause)
}

async function judge(response: Response, options: HttpRequestOptions): Promise<HttpResult> {
  const { status } = response
  const asked = `${options.method} ${new URL(response.url).host} answered ${status}`
  if (response.ok || options.alsoOk?.includes(status)) {
    return readResult(response, options.method, options.response ?? 'json', options.maxResponseBytes ?? 1_000_000)
  }
  await response.body?.cancel()
  const wait = status === 429 ? retryAfterMs(response.headers.get('retry-after')) : undefined
  if (wait !== undefined) throw new NotApplied(`${asked}: try again in ${wait} ms.`, { retryAfterMs: wait, rateLimited: true })
  if (provesNotApplied.has(status)) throw new NotApplied(`${asked}: refused before it was carried out.`)
  if (status >= 300 && status < 400) throw new Error(`${asked}: redirects are not followed (to ${response.headers.get('location') ?? 'nowhere'}).`)
  throw new Error(`${asked}, which does not say whether the request was carried out.`)
}
