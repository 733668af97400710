/**
 * `fetch` that asks the guard in the same tick in which the request's bytes are written.
 *
 * A check before `fetch` is not enough: connecting takes time, the event loop may be blocked meanwhile, and then the
 * handshake's I/O callback writes the request *before* the expired abort timer fires. So the check sits in the
 * dispatcher, where the socket is ready and the write is the next statement; bodies are read beforehand so that nothing
 * asynchronous stands between the two. One request is written at most once: `fetch` itself would re-send after a 421,
 * and a redirect would repeat a write elsewhere.
 */
import { Agent, Dispatcher, fetch as undiciFetch, type RequestInit as UndiciInit } from 'undici'
import { NotSent } from './not-sent.ts'

export interface GuardedFetchOptions {
  /** Throws (`NotSent`) when nothing may be sent any more. */
  readonly guard: () => void
  /** Ends requests under way: the tool's timeout. */
  readonly signal?: AbortSignal
  /** Where requests go. Default: one shared keep-alive agent. */
  readonly dispatcher?: Dispatcher
}

/** `fetch`, and how many requests it has begun to write. 0 proves that nothing was sent. */
export type GuardedFetch = typeof globalThis.fetch & { readonly requestsSent: number }

let shared: Agent | undefined
/** HTTP/1.1 without pipelining: on a lost connection exactly one request is concerned, and none is written again. */
export const agentDefaults = { allowH2: false, pipelining: 1 } as const
const sharedAgent = (): Agent => (shared ??= new Agent(agentDefaults))

/**
 * One per attempt of a call. Rejects with the guard's own error (`NotSent`) only if no request of this attempt was
 * written before; afterwards a closed guard is a plain error, because an earlier request may have had its effect.
 * Redirects are followed for GET and HEAD; for everything else the 3xx response is handed back.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const state: SendState = { sent: 0, refusal: undefined }
  const base = options.dispatcher ?? sharedAgent()

  const guardedFetch = async (input: Parameters<typeof globalThis.fetch>[0], init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const call: CallState = { targets: new Set(), isOver: false, refusal: undefined, body }
    try {
      const response = await undiciFetch(request.url, {
        method: request.method,
        headers: [...request.headers],
        redirect: request.redirect === 'follow' && !isRead ? 'manual' : request.redirect,
        signal: options.signal ? AbortSignal.any([options.signal, request.signal]) : request.signal,
        dispatcher: guardedDispatcher(base, options.guard, state, call),
        ...(body && body.length > 0 ? { body } : {}),
      } satisfies UndiciInit)
      return response as unknown as Response
    } catch (error) {
      throw call.refusal ?? error
    } finally {
      call.isOver = true
    }
  }
  return Object.defineProperty(guardedFetch, 'requestsSent', { get: () => state.sent }) as unknown as GuardedFetch
}

interface SendState {
  sent: number
  /** Once closed, closed for this attempt: a guard that opens again must not let a sibling of a refused request out. */
  refusal: unknown
}

interface CallState {
  readonly targets: Set<string>
  isOver: boolean
  refusal: unknown
  readonly body: Buffer | undefined
}

type Handler = Parameters<Dispatcher['dispatch']>[1]

/** The base dispatcher with the check in front of the first byte of every request of one `fetch` call. */
function guardedDispatcher(base: Dispatcher, guard: () => void, state: SendState, call: CallState): Dispatcher {
  return base.compose((dispatch) => (request, handler) => {
    const target = `${request.method} ${String(request.origin)}${request.path}`
    const check = (): void => {
      try {
        assertSendable(target, guard, state, call)
      } catch (refusal) {
        call.refusal = refusal
        throw refusal
      }
      call.targets.add(target)
      state.sent += 1
    }
    // The bytes themselves instead of fetch's stream: undici then writes head and body in the tick of the check.
    const body = request.method === 'GET' || request.method === 'HEAD' || !call.body || call.body.length === 0 ? null : call.body
    return dispatch({ ...request, body }, checkedBeforeBytes(handler, check))
  })
}

function assertSendable(target: string, guard: () => void, state: SendState, call: CallState): void {
  if (call.isOver) throw new Error(`${target} was given up before it was sent.`)
  if (call.targets.has(target)) throw new Error(`${target} would have been sent a second time (redirect loop or 421). Pawl's fetch never sends a request twice.`)
  if (state.refusal !== undefined) throw state.refusal
  try {
    guard()
  } catch (refusal) {
    state.refusal = refusal
    if (refusal instanceof NotSent && state.sent > 0) {
      throw new Error(`${target} was not sent (${refusal.message}), but an earlier request of the same call was: the call is unsettled.`, { cause: refusal })
    }
    throw refusal
  }
}

/** Undici calls `onRequestStart` when the socket is ready and writes the request next. A throw there writes nothing. */
function checkedBeforeBytes(handler: Handler, check: () => void): Handler {
  return {
    onRequestStart(controller, context) {
      check()
      handler.onRequestStart?.(controller, context)
    },
    onRequestUpgrade: (controller, status, headers, socket) => handler.onRequestUpgrade?.(controller, status, headers, socket),
    onResponseStart: (controller, status, headers, statusText) => handler.onResponseStart?.(controller, status, headers, statusText),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  }
}
