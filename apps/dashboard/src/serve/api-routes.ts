/**
 * `/api/v1/…`: the producer's HTTP for whoever is logged in. The browser holds no token: the dashboard adds its own and names the person,
 * so that the ledger's record does. Origin and body size were looked at before; here the role is, per route, and what may pass either way.
 */
import { PawlError } from '@pawl/core'
import { Hono } from 'hono'
import type { Logger } from 'pino'
import { requireRole, type PageContext, type PageEnv } from '../auth/guard.ts'
import type { Role } from '../auth/users.ts'

export interface ApiParts {
  readonly producerUrl: string
  readonly token: string | undefined
  readonly log: Logger
  /** Aborts when the dashboard stops: streams end. */
  readonly closing: AbortSignal
}

/** Nothing else of a browser's request goes on: no cookie, and no `Authorization` but ours. */
const requestHeaders = ['accept', 'content-type', 'idempotency-key', 'last-event-id']
const responseHeaders = ['content-type', 'content-disposition', 'retry-after']
/** To the first byte of an answer. */
const patienceMs = 20_000
/** An event stream is asked for anew after this long, so that a session that ended sees no more. */
const longestStreamMs = 5 * 60_000

export function apiRoutes(parts: ApiParts): Hono<PageEnv> {
  const app = new Hono<PageEnv>()
  app.all('/v1/*', async (c) => {
    if (c.req.method !== 'GET' && c.req.method !== 'POST') throw new PawlError('METHOD_NOT_ALLOWED', 'The API is read with GET and acted on with POST.')
    requireRole(c, roleFor(c.req.method, c.req.path))
    return await forward(c, parts)
  })
  return app
}

/** What the producer asks of a token's scopes, asked of the person first. A route nobody thought of needs the most. */
function roleFor(method: string, path: string): Role {
  if (method === 'GET') return 'read'
  return path === '/api/v1/runs' ? 'run' : 'operate'
}

async function forward(c: PageContext, { producerUrl, token, log, closing }: ApiParts): Promise<Response> {
  const asked = new URL(c.req.url)
  const url = new URL(producerUrl.replace(/\/$/, '') + asked.pathname.replace(/^\/api/, '') + asked.search)
  const isWrite = c.req.method === 'POST'
  const gone = new AbortController()
  const timer = setTimeout(() => gone.abort(new Error(`no answer in ${patienceMs / 1_000} s`)), patienceMs)
  let answer: Response
  try {
    answer = await fetch(url, {
      method: c.req.method, redirect: 'error', headers: headersFor(c, token, isWrite),
      ...(isWrite ? { body: await c.req.arrayBuffer() } : {}),
      signal: AbortSignal.any([c.req.raw.signal, closing, gone.signal]),
    })
  } catch (cause) {
    throw new PawlError('PRODUCER_UNREACHABLE', `The producer at ${url.host} did not answer (${reasonOf(cause)}). ${isWrite ? 'Whether it acted is unknown: look before you ask again.' : 'Is it running? This page tries again.'}`, 'retry', {}, { cause })
  } finally {
    clearTimeout(timer)
  }
  if (isWrite) log.info({ user: c.get('session').name, path: url.pathname, status: answer.status }, 'asked for')
  // Of the dashboard's own token: a browser told 401 would lead the person to a login that cannot help.
  if (answer.status === 401) {
    await answer.body?.cancel()
    throw new PawlError('UNAUTHENTICATED', 'The producer refuses the dashboard’s token.')
  }
  const headers = new Headers()
  for (const name of responseHeaders) {
    const value = answer.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const isEvents = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  return new Response(answer.body === null || !isEvents ? answer.body : endAfter(answer.body, longestStreamMs, closing), { status: answer.status, headers })
}

function headersFor(c: PageContext, token: string | undefined, isWrite: boolean): Headers {
  const headers = new Headers()
  for (const name of requestHeaders) {
    const value = c.req.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  // Looking needs no name, and a token that may not speak for others can still look.
  if (isWrite) headers.set('pawl-actor', c.get('session').name)
  return headers
}

/** The stream, ended in good order: browsers ask again with the number of the last event they have. */
function endAfter(body: ReadableStream<Uint8Array>, ms: number, closing: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    clearTimeout(timer)
    closing.removeEventListener('abort', stop)
    reader.cancel().catch(() => undefined)
  }
  return new ReadableStream({
    start() {
      timer = setTimeout(stop, ms)
      closing.addEventListener('abort', stop)
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
      } catch {
        // The producer went away: to the browser the stream is over, and it asks again.
      }
      stop()
      controller.close()
    },
    cancel: stop,
  })
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}
