/**
 * A model for tests, over real HTTP: `POST /v1/chat/completions` as OpenAI-compatible servers speak it, and `POST /v1/messages` as Anthropic does, both with
 * streaming. A policy decides; the server words, orders and numbers each answer differently; invalid message orders are refused as the real ones refuse them.
 * Its log is the oracle. It decides nothing about tools and runs none.
 */
import { estimateTokens } from '@pawl/core'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropicError, anthropicStream, anthropicWhole } from './anthropic-write.ts'
import { readAnthropic } from './anthropic-read.ts'
import { conversationDigest, Refused, type Decision, type Policy } from './conversation.ts'
import { ModelLog, type ModelLogEntry } from './model-log.ts'
import { readOpenAi, type ReadRequest } from './openai-read.ts'
import { openAiError, openAiStream, openAiWhole } from './openai-write.ts'
import { word } from './worded.ts'

/** One per request, in the order the requests arrive. Those named `before` and `status` make no decision. */
export type ModelFault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterSeconds?: number }
  /** Ends the connection. `after`: the decision is made and logged, and no byte of it sent. */
  | { readonly kind: 'drop'; readonly when: 'before' | 'after' }
  /** So many milliseconds between two events of a stream, or before a whole answer. */
  | { readonly kind: 'slow'; readonly everyMs: number }
  /** So many events of a stream, then the connection ends; of a whole answer the first half. `isClean`: it ends as if that were all. */
  | { readonly kind: 'truncate'; readonly events: number; readonly isClean?: boolean }

export interface ModelServerOptions {
  readonly decide: Policy
  /** Appended to; a server on the same file counts on. Default: kept in memory. */
  readonly logFile?: string
  /** A model that was talked into something calls what nobody offered it. Default: such a policy is a mistake, and said. */
  readonly callsUnoffered?: boolean
  /** Then required, by the header of the API in question. */
  readonly apiKey?: string
  /** 0, the default: any free port of 127.0.0.1. */
  readonly port?: number
}

export interface ModelServer {
  /** `baseURL` of either provider: ends with `/v1`. */
  readonly url: string
  readonly fail: (...faults: ModelFault[]) => void
  readonly log: () => readonly ModelLogEntry[]
  /** Resolves when so many requests have been read, whatever became of them. */
  readonly asked: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

const apis = {
  '/v1/chat/completions': { api: 'openai', read: readOpenAi, whole: openAiWhole, stream: openAiStream, error: openAiError, key: (request: IncomingMessage) => request.headers.authorization?.replace(/^Bearer /, '') },
  '/v1/messages': { api: 'anthropic', read: readAnthropic, whole: anthropicWhole, stream: anthropicStream, error: anthropicError, key: (request: IncomingMessage) => request.headers['x-api-key'] },
} as const
type Api = (typeof apis)[keyof typeof apis]
type Note = Pick<ModelLogEntry, 'n' | 'at' | 'api' | 'stream' | 'digest' | 'inputTokens'>

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const model = new Model(options)
  const server = createServer((request, response) => {
    model.answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) reply(response, 500, { error: { message: String(error), type: 'server_error' } })
      else response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => { server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve) })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    fail: (...faults) => { model.faults.push(...faults) },
    log: () => model.log.entries(),
    asked: (count) => model.asked(count),
    close: async () => {
      const closed = new Promise<void>((resolve) => { server.close(() => resolve()) })
      server.closeAllConnections()
      await closed
    },
  }
}

class Model {
  readonly log: ModelLog
  readonly faults: ModelFault[] = []
  #read = 0
  readonly #awaited: { count: number; resolve: () => void }[] = []

  constructor(private readonly options: ModelServerOptions) {
    this.log = new ModelLog(options.logFile ?? null)
  }

  asked(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#read >= count) resolve()
      else this.#awaited.push({ count, resolve })
    })
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://model').pathname
    const api: Api | undefined = Object.hasOwn(apis, path) ? apis[path as keyof typeof apis] : undefined
    const text = await readText(request)
    if (api === undefined || request.method !== 'POST') return reply(response, 404, openAiError(404, 'invalid_request_error', `No ${request.method} ${path} here: this server has POST /v1/chat/completions and POST /v1/messages.`))
    const n = this.log.next()
    const unread: Note = { n, at: new Date().toISOString(), api: api.api, stream: false, digest: null, inputTokens: estimateTokens(text) }
    try {
      this.#authenticate(api, request)
      const read = api.read(parse(text))
      this.#noteRead()
      await this.#serve(api, read, { ...unread, stream: read.stream, digest: conversationDigest(read.conversation) }, response)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#note(unread, { outcome: 'refused', why: error.message })
      this.#noteRead()
      reply(response, error.status, api.error(error.status, error.type, error.message))
    }
  }

  async #serve(api: Api, read: ReadRequest, note: Note, response: ServerResponse): Promise<void> {
    const fault = this.faults.shift()
    if (fault?.kind === 'status') {
      this.#note(note, { outcome: `status ${fault.status}` })
      return reply(response, fault.status, api.error(fault.status, 'api_error', `Told to answer ${fault.status}.`), fault.retryAfterSeconds === undefined ? {} : { 'retry-after': String(fault.retryAfterSeconds) })
    }
    if (fault?.kind === 'drop' && fault.when === 'before') {
      this.#note(note, { outcome: 'dropped before' })
      return void response.socket?.destroy()
    }
    const decision = await this.#decide(read, note)
    const offered = new Set(read.conversation.tools)
    const missing = decision.calls?.find((call) => !offered.has(call.name))
    if (missing !== undefined && this.options.callsUnoffered !== true) {
      this.#note(note, { outcome: 'policy failed', why: `calls ${missing.name}, which is not offered` })
      return reply(response, 500, api.error(500, 'api_error', `The policy calls ${missing.name}, which is not offered.`))
    }
    const answer = word(decision, api.api, note.n)
    this.#note(note, { outcome: 'answered', label: decision.label ?? null, calls: [...answer.calls], fault: fault?.kind ?? null })
    if (fault?.kind === 'drop') return void response.socket?.destroy()
    const meta = { id: `${api.api === 'openai' ? 'chatcmpl' : 'msg'}-${note.n}`, model: read.conversation.model, inputTokens: note.inputTokens, outputTokens: estimateTokens(JSON.stringify(answer)), streamUsage: read.streamUsage }
    const chunks = read.stream ? api.stream(answer, meta) : halves(JSON.stringify(api.whole(answer, meta)))
    await send(response, chunks, read.stream, fault)
  }

  async #decide(read: ReadRequest, note: Note): Promise<Decision> {
    try {
      return await this.options.decide(read.conversation)
    } catch (error) {
      this.#note(note, { outcome: 'policy failed', why: String(error) })
      throw error
    }
  }

  #authenticate(api: Api, request: IncomingMessage): void {
    if (this.options.apiKey !== undefined && api.key(request) !== this.options.apiKey) throw new Refused(401, 'authentication_error', 'The API key is missing or wrong.')
    if (api.api === 'anthropic' && request.headers['anthropic-version'] === undefined) throw new Refused(400, 'invalid_request_error', 'anthropic-version: header is required')
  }

  #note(note: Note, more: Partial<ModelLogEntry> & { outcome: string }): void {
    this.log.add({ ...note, why: null, label: null, calls: [], fault: null, ...more })
  }

  #noteRead(): void {
    this.#read++
    for (const one of this.#awaited.filter(({ count }) => this.#read >= count)) one.resolve()
  }
}

async function send(response: ServerResponse, chunks: readonly string[], isStream: boolean, fault: ModelFault | undefined): Promise<void> {
  response.writeHead(200, isStream ? { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } : { 'content-type': 'application/json' })
  for (const [i, chunk] of chunks.entries()) {
    if (fault?.kind === 'slow') await new Promise((resolve) => { setTimeout(resolve, fault.everyMs) })
    if (fault?.kind === 'truncate' && i >= (isStream ? fault.events : 1)) {
      if (fault.isClean) break
      await new Promise<void>((resolve) => { response.write('\n', () => resolve()) })
      return void response.socket?.destroy()
    }
    if (response.destroyed) return
    response.write(chunk)
  }
  response.end()
}

const halves = (text: string): string[] => [text.slice(0, Math.floor(text.length / 2)), text.slice(Math.floor(text.length / 2))]

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Refused(400, 'invalid_request_error', 'The body is no JSON.')
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

