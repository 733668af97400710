/**
 * The outside world of the tests: an HTTP server whose effects are counted, with one path per promise a receiver can make.
 *
 * POST /<class>/<op>/<subject>, the key in `Idempotency-Key`; GET /lookup/<op>/<subject> with the key tells whether it was applied.
 * - `keyed` deduplicates on the key, the call still running included (409); another body under a known key is 422.
 * - `racy` deduplicates by looking first and acting later, so two simultaneous calls are two effects.
 * - `lookup` and `opaque` apply whatever arrives; `lookup` can be asked. `read` applies nothing.
 *
 * Faults are programmed per subject, one per receipt, in order: `POST /control/program`. Runs in process or alone (`node effects-server.js <port> <log file>`).
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { EFFECT_CLASSES, EffectsLog, type EffectClass, type JudgedReceipt, type Receipt, type ReceiptFilter } from './effects-log.ts'

export interface Fault {
  readonly delayBeforeMs?: number
  readonly delayAfterMs?: number
  /** Waits until the subject is released. `before`: the effect is not applied yet. */
  readonly hold?: 'before' | 'after'
  /** Ends the connection instead of an answer. `before`: nothing is applied. */
  readonly drop?: 'before' | 'after'
  /** Answers with this status after the effect. */
  readonly errorAfter?: number
  /** Refuses with this status before the effect. */
  readonly refuse?: number
  readonly retryAfterSeconds?: number
  /** Forgets what it knows of the key first. */
  readonly forget?: boolean
  /** `lookup`: how long the effect stays invisible. */
  readonly hiddenMs?: number
  /** The body of this one answer, word for word. */
  readonly answer?: string
}

export interface EffectsServer {
  readonly url: string
  program(subject: string, faults: readonly Fault[]): void
  release(subject: string): void
  receipts(filter?: ReceiptFilter): JudgedReceipt[]
  /** How often it was applied. */
  effects(filter?: ReceiptFilter): number
  /** Resolves when so many requests about the subject have arrived. */
  received(subject: string, count: number): Promise<void>
  close(): Promise<void>
}

interface Kept {
  readonly digest: string
  readonly answer: string | undefined
  readonly visibleAt: number
}

class Receiver {
  readonly log: EffectsLog
  readonly #kept = new Map<string, Kept>()
  readonly #faults = new Map<string, Fault[]>()
  readonly #held = new Map<string, (() => void)[]>()
  readonly #released = new Set<string>()
  readonly #awaited: { subject: string; count: number; resolve: () => void }[] = []

  constructor(file: string | null) {
    this.log = new EffectsLog(file)
    for (const receipt of this.log.receipts()) if (receipt.applied) this.#kept.set(receipt.key, { digest: receipt.digest, answer: answerOf(receipt), visibleAt: 0 })
  }

  program(subject: string, faults: readonly Fault[]): void {
    this.#faults.set(subject, [...faults])
    this.#released.delete(subject)
  }

  /** Also lets through what comes to its hold later, until the subject is programmed anew. */
  release(subject: string): void {
    this.#released.add(subject)
    for (const go of this.#held.get(subject) ?? []) go()
    this.#held.delete(subject)
  }

  releaseAll(): void {
    for (const subject of Array.from(this.#held.keys())) this.release(subject)
  }

  received(subject: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited.push({ subject, count, resolve })
      this.#tell()
    })
  }

  #tell(): void {
    const met = this.#awaited.filter((one) => this.log.receipts({ subject: one.subject }).length >= one.count)
    for (const one of met) {
      this.#awaited.splice(this.#awaited.indexOf(one), 1)
      one.resolve()
    }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, kind = '', op = '', subject = ''] = new URL(request.url ?? '/', 'http://effects').pathname.split('/').map(decodeURIComponent)
    const body = await readBody(request)
    if (kind === 'control') return this.#control(op, body, response)
    if (!(EFFECT_CLASSES as readonly string[]).includes(kind)) return reply(response, 404, { error: 'no such endpoint' })
    const key = String(request.headers['idempotency-key'] ?? '')
    if (request.method === 'GET' && kind === 'lookup') return this.#look(key, response)
    const receipt = this.log.receive({
      class: kind as EffectClass, subject, op, key, digest: createHash('sha256').update(body).digest('hex'),
      epoch: numberFrom(request.headers['x-epoch']), attempt: numberFrom(request.headers['x-attempt']),
    })
    this.#tell()
    await this.#serve(receipt, this.#faults.get(subject)?.shift() ?? {}, response)
  }

  async #serve(receipt: Receipt, fault: Fault, response: ServerResponse): Promise<void> {
    if (fault.forget) this.#kept.delete(receipt.key)
    const isKeyed = receipt.class === 'keyed' || receipt.class === 'racy'
    const known = isKeyed ? this.#kept.get(receipt.key) : undefined
    if (known && known.digest !== receipt.digest) return reply(response, 422, { error: 'this key came with another body' })
    if (known && known.answer === undefined) return reply(response, 409, { error: 'a call with this key is still running' })
    if (!known && receipt.class === 'keyed' && fault.refuse === undefined && fault.drop !== 'before') this.#kept.set(receipt.key, { digest: receipt.digest, answer: undefined, visibleAt: 0 })
    await pause(fault.delayBeforeMs)
    if (fault.hold === 'before') await this.#hold(receipt.subject)
    if (fault.drop === 'before') return void response.socket?.destroy()
    if (fault.refuse !== undefined) {
      return reply(response, fault.refuse, { error: 'refused' }, fault.retryAfterSeconds === undefined ? {} : { 'retry-after': String(fault.retryAfterSeconds) })
    }
    const answer = known?.answer ?? answerOf(receipt)
    if (!known && receipt.class !== 'read') {
      this.log.apply(receipt)
      this.#kept.set(receipt.key, { digest: receipt.digest, answer, visibleAt: Date.now() + (fault.hiddenMs ?? 0) })
    }
    await pause(fault.delayAfterMs)
    if (fault.hold === 'after') await this.#hold(receipt.subject)
    if (fault.drop === 'after') return void response.socket?.destroy()
    if (fault.errorAfter !== undefined) return reply(response, fault.errorAfter, { error: 'failed after the effect' })
    response.writeHead(200, { 'content-type': 'application/json' }).end(fault.answer ?? answer)
  }

  #hold(subject: string): Promise<void> {
    if (this.#released.has(subject)) return Promise.resolve()
    return new Promise((resolve) => this.#held.set(subject, [...(this.#held.get(subject) ?? []), resolve]))
  }

  #look(key: string, response: ServerResponse): void {
    const kept = this.#kept.get(key)
    if (!kept || kept.answer === undefined || kept.visibleAt > Date.now()) return reply(response, 404, { error: 'nothing under this key' })
    response.writeHead(200, { 'content-type': 'application/json' }).end(kept.answer)
  }

  #control(verb: string, body: Buffer, response: ServerResponse): void {
    const asked = JSON.parse(body.toString() || '{}') as { subject?: string; faults?: Fault[]; filter?: ReceiptFilter }
    if (verb === 'program') this.program(asked.subject ?? '', asked.faults ?? [])
    else if (verb === 'release') this.release(asked.subject ?? '')
    else if (verb === 'receipts') return reply(response, 200, this.log.receipts(asked.filter))
    else return reply(response, 404, { error: 'no such control' })
    reply(response, 200, {})
  }
}

/** What the receiver says about an effect: the same for every call under one key. */
const answerOf = (receipt: Receipt): string => JSON.stringify({ ref: `${receipt.op}-${receipt.subject}-${receipt.n}` })

const numberFrom = (header: string | string[] | undefined): number | null => (header === undefined ? null : Number(header))

async function pause(ms: number | undefined): Promise<void> {
  if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms))
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function reply(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/**
 * A receiver that stands still reads requests later than any wait allows for, and what was then sent twice is nobody's fault but the machine's.
 * It says so itself, in its log: nobody else can tell.
 */
const heartbeatMs = 100
const standstillMs = 1_000

function watchStandstills(log: EffectsLog): void {
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    const lateMs = now - last - heartbeatMs
    last = now
    if (lateMs > standstillMs) log.stoodStill(Math.round(lateMs))
  }, heartbeatMs).unref()
}

/** @param options.file the log to go on with; null keeps it in memory. @param options.port 0 for a free one. @param options.isAlone nothing else runs in this process. */
export async function startEffectsServer(options: { file?: string | null; port?: number; isAlone?: boolean } = {}): Promise<EffectsServer> {
  const receiver = new Receiver(options.file ?? null)
  if (options.isAlone) watchStandstills(receiver.log)
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    receiver.answer(request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    program: (subject, faults) => receiver.program(subject, faults),
    release: (subject) => receiver.release(subject),
    receipts: (filter) => receiver.log.receipts(filter),
    effects: (filter) => receiver.log.receipts(filter).filter((receipt) => receipt.applied).length,
    received: (subject, count) => receiver.received(subject, count),
    async close() {
      receiver.releaseAll()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const server = await startEffectsServer({ port: Number(process.argv[2] ?? 0), file: process.argv[3] ?? null, isAlone: true })
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
}
