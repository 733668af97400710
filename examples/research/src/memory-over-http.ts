/**
 * One memory server for all workers: `node memory-over-http.js GRAPH BOOK SLOW_MS`. The published one speaks stdio, and two of them on one file would
 * overwrite each other's graph; so this process has the only one, speaks MCP over HTTP to everybody, and hands calls on one after the other.
 * Writes each call into its book before it hands it on, and again when it is carried out. Prints its address.
 */
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { writeMemoryReceipt } from './memory-book.ts'
import { serverMain } from './tools.ts'

const [graph = '', book = '', slowMs = '0'] = process.argv.slice(2)
const message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(), method: z.string(),
  params: z.looseObject({
    arguments: z.object({ entities: z.array(z.looseObject({ name: z.string() })).optional() }).optional(),
    _meta: z.looseObject({ idempotencyKey: z.string().optional() }).optional(),
  }).optional(),
})
type Message = z.infer<typeof message>

const child = spawn(process.execPath, [serverMain('server-memory')], { env: { PATH: process.env['PATH'], MEMORY_FILE_PATH: graph }, stdio: ['pipe', 'pipe', 'ignore'] })
child.once('exit', () => process.exit(1))
const waiting = new Map<number, (answer: Record<string, unknown>) => void>()
createInterface({ input: child.stdout }).on('line', (line) => {
  const answer = JSON.parse(line) as { id?: number }
  if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
})

let asked = 0
function ask({ id, ...rest }: Message): Promise<Record<string, unknown>> {
  const own = ++asked
  const answered = new Promise<Record<string, unknown>>((resolve) => waiting.set(own, (answer) => resolve({ ...answer, id })))
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...rest, id: own })}\n`)
  return answered
}

let tail: Promise<unknown> = Promise.resolve()
let initialized: Promise<Record<string, unknown>> | undefined

async function answerTo(given: Message): Promise<Record<string, unknown>> {
  if (given.method === 'initialize') {
    initialized ??= ask(given)
    return { ...(await initialized), id: given.id }
  }
  if (given.method !== 'tools/call') return await ask(given)
  const turn = tail.then(() => callOnce(given))
  tail = turn
  return await turn
}

async function callOnce(given: Message): Promise<Record<string, unknown>> {
  const receipt = { key: given.params?._meta?.idempotencyKey ?? 'none', entities: (given.params?.arguments?.entities ?? []).map(({ name }) => name) }
  writeMemoryReceipt(book, { ...receipt, carriedOut: false })
  // Half of its time before, half after: a caller killed meanwhile cannot know which.
  await sleep(Number(slowMs) / 2)
  const answer = await ask(given)
  writeMemoryReceipt(book, { ...receipt, carriedOut: true })
  await sleep(Number(slowMs) / 2)
  return answer
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const given = message.parse(JSON.parse(Buffer.concat(chunks).toString()))
  if (given.id === undefined) return void response.writeHead(202).end()
  const answer = await answerTo(given)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => response.writeHead(400).end(String(error)))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`))
const end = (): void => { child.kill(); process.exit(0) }
process.on('disconnect', end)
process.on('SIGTERM', end)
