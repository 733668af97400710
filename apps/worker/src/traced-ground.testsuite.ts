/** A producer and a supervisor with worker processes as they run in production, an OTLP collector of the test's own, and the server their tool calls. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createClient, type PawlClient } from '@pawl/client'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { z } from 'zod'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'

const programs = { producer: '../../producer/dist/main.js', worker: '../dist/main.js' } as const
const config = fileURLToPath(new URL('./traced-config.testsuite.ts', import.meta.url))

const attribute = z.object({ key: z.string(), value: z.object({ stringValue: z.string(), intValue: z.union([z.number(), z.string()]).transform(Number), boolValue: z.boolean() }).partial().loose() })
const attributes = z.array(attribute).default([]).transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.boolValue])))
const span = z.object({
  traceId: z.string(), spanId: z.string(), parentSpanId: z.string().optional(), name: z.string(), attributes,
  events: z.array(z.object({ name: z.string() }).loose()).default([]), links: z.array(z.object({ traceId: z.string(), spanId: z.string() }).loose()).default([]),
  status: z.object({ code: z.number().default(0), message: z.string().optional() }).default({ code: 0 }),
})
const exported = z.object({ resourceSpans: z.array(z.object({ resource: z.object({ attributes }), scopeSpans: z.array(z.object({ spans: z.array(span) })) })) })
export type ReceivedSpan = z.infer<typeof span> & { readonly service: unknown; readonly pid: unknown }

export interface Call {
  readonly about: string
  readonly pid: number
}

export interface TracedGround {
  readonly pawl: PawlClient
  readonly ledger: Ledger
  readonly spans: readonly ReceivedSpan[]
  /** What the collector was sent, as it came. */
  readonly bodies: readonly string[]
  readonly calls: readonly Call[]
  /** Lines of the logs, supervisor, workers and producer together. */
  readonly lines: readonly string[]
  /** Calls about this are not answered until it is emptied. */
  readonly held: Set<string>
  /** Milliseconds until the fleet was gone. */
  stop(): Promise<number>
  close(): Promise<void>
}

/** `collector` silent: it takes what comes and never answers; away: nobody listens there. */
export async function openTraced(processes: number, collector: 'answers' | 'silent' | 'away'): Promise<TracedGround> {
  const database = await freshDatabase()
  const ledger = new Ledger({ url: database.url, connections: 2 })
  await migrateLedger(ledger)
  const [spans, bodies, calls, lines, held]: [ReceivedSpan[], string[], Call[], string[], Set<string>] = [[], [], [], [], new Set()]
  const otlp = await listen(async (request, answer) => {
    const body = await read(request)
    bodies.push(body)
    for (const { resource, scopeSpans } of exported.parse(JSON.parse(body)).resourceSpans) spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((one) => ({ ...one, service: resource.attributes['service.name'], pid: resource.attributes['process.pid'] }))))
    if (collector === 'answers') answer({})
  })
  const outside = await listen(async (request, answer) => {
    const call = z.object({ about: z.string(), pid: z.number() }).parse(JSON.parse(await read(request)))
    calls.push(call)
    if (!held.has(call.about)) answer({ receipt: 'canary-receipt' })
  })
  if (collector === 'away') await close(otlp.server)
  const env = {
    ...process.env, DATABASE_URL: database.url, REDIS_URL: '', PAWL_QUEUE: 'postgres', PAWL_CONFIG: config, TRACED_URL: outside.url, OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    PAWL_PROCESSES: String(processes), PAWL_PORT: '0', PAWL_WORKER_PORT: '0', PAWL_LOG_LEVEL: 'debug',
  }
  const start = (name: keyof typeof programs): ChildProcess => {
    const child = spawn(process.execPath, [fileURLToPath(new URL(programs[name], import.meta.url))], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => lines.push(line))
    return child
  }
  const children = [start('producer'), start('worker')]
  const stop = async (): Promise<number> => {
    const begun = performance.now()
    await Promise.all(children.filter((child) => child.exitCode === null && child.signalCode === null).map(async (child) => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }))
    return performance.now() - begun
  }
  const ground = {
    pawl: createClient({ url: await urlIn(lines, 'producer') }), ledger, spans, bodies, calls, lines, held, stop,
    async close() {
      held.clear()
      for (const child of children) child.kill('SIGKILL')
      await Promise.all([otlp.server, outside.server].map(close))
      await ledger.close()
      await database.drop()
    },
  }
  return ground
}

/** The address a program said it listens on. */
export async function urlIn(lines: readonly string[], name: string): Promise<string> {
  return await until(`${name} listens`, () => lines.map((line) => /^\{.*\}$/.test(line) ? JSON.parse(line) as Record<string, unknown> : {}).find((line) => line['name'] === name && typeof line['url'] === 'string')?.['url'] as string | undefined)
}

export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>, withinMs = 120_000): Promise<T> {
  for (const deadline = Date.now() + withinMs; ;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline) throw new Error(`waited ${withinMs / 1_000} s in vain until ${what}`)
    await new Promise((resolve) => { setTimeout(resolve, 50) })
  }
}

async function listen(handle: (request: IncomingMessage, answer: (body: object) => void) => Promise<void>): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    void handle(request, (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))).catch((error: unknown) => response.writeHead(500).end(String(error)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  server.closeAllConnections()
  await new Promise((resolve) => { server.close(resolve) })
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
