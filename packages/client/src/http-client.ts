/** The client over a producer's HTTP, in Node and in browsers. Problem documents become the `PawlError` the direct client would have thrown. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import type { AnyAgentContract } from './agents.ts'
import { approvalVerbs } from './approval-verbs.ts'
import type { ItemSeed, PawlClient, RunsFilter, StartOptions } from './contract.ts'
import { actionSchema, approvalDecisionSchema, briefSchema, eventSchema, inboxSchema, itemSchema, pageSchema, previewSchema, questionSchema, repinAnswerSchema, repinPreviewSchema, runSchema, startedSchema, toWire, verbAnswerSchema } from './wire.ts'
import { readExport } from './read-export.ts'
import type { ExportLine } from './wire-export.ts'
import { bulkSchema, bulkStartedSchema } from './wire-bulk.ts'
import { attemptsSchema, failuresSchema, fleetSchema, paceSchema, runCountsSchema, spentSchema, squaresSchema, toolsSchema, turnsSchema } from './wire-looks.ts'
import { traceStart } from './trace-start.ts'
import { watchRun } from './watch-run.ts'

export interface HttpOptions {
  /** `https://pawl.example.org` */
  readonly url: string
  readonly token?: string | undefined
  /** For one answer; a stream may take as long as it sends. Default 30 s. */
  readonly timeoutMs?: number | undefined
  /** Sent with every request besides: what a gateway before the producer asks for. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

interface Call {
  readonly query?: object | undefined
  readonly body?: unknown
  readonly lines?: AsyncGenerator<Uint8Array> | undefined
  readonly key?: string | undefined
  /** Of an answer that is streamed. */
  readonly accept?: string | undefined
  readonly traceParent?: string | null | undefined
}

const problem = z.object({ code: z.string(), detail: z.string() }).loose()
const verbOrPreview = z.discriminatedUnion('dryRun', [verbAnswerSchema, previewSchema])

export function createHttpClient(options: HttpOptions): PawlClient {
  const ask = async <T>(schema: z.ZodType<T>, method: 'GET' | 'POST', path: string, call: Call = {}): Promise<T> => schema.parse(await send(options, method, path, call))
  const run = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}`
  const getRun = (runId: string) => ask(runSchema, 'GET', run(runId))
  const verb = (name: string, runId: string, given: { dryRun?: boolean | undefined; reason?: string | undefined } = {}) =>
    ask(verbOrPreview, 'POST', `${run(runId)}/${name}`, { query: given.dryRun ? { dryRun: 'true' } : {}, body: given.reason === undefined ? {} : { reason: given.reason } })
  return {
    startRun: async (agent: AnyAgentContract | string, input: unknown, given: StartOptions = {}) => {
      if (given.tx !== undefined) throw new PawlError('NEEDS_DIRECT', 'A transaction can be joined only by a client with a databaseUrl, not over HTTP.')
      const [name, version] = typeof agent === 'string' ? [agent, given.version] : [agent.name, agent.version]
      const items = given.items?.map((item) => ({ key: item.key, payload: toWire(item.payload) }))
      return await traceStart({ agent: name, kind: 'over HTTP' }, (traceParent) => ask(startedSchema, 'POST', '/v1/runs', { key: given.idempotencyKey, traceParent, body: { agent: name, version, input: toWire(input), items, labels: given.labels, policy: given.policy } }))
    },
    startRunFromStream: async (header, items, given = {}) =>
      await traceStart({ agent: header.agent, kind: 'over HTTP' }, (traceParent) =>
        ask(startedSchema, 'POST', '/v1/runs', { key: given.idempotencyKey, traceParent, lines: linesOf({ ...header, input: toWire(header.input) }, items) })),
    getRun,
    listRuns: (filter) => ask(pageSchema(runSchema), 'GET', '/v1/runs', { query: runsQuery(filter) }),
    countRuns: (filter) => ask(runCountsSchema, 'GET', '/v1/runs/counts', { query: runsQuery(filter) }),
    squares: (runId) => ask(squaresSchema, 'GET', `${run(runId)}/squares`),
    failures: (runId) => ask(failuresSchema, 'GET', `${run(runId)}/failures`),
    pace: (runId, given) => ask(paceSchema, 'GET', `${run(runId)}/pace`, { query: given }),
    spent: (runId) => ask(spentSchema, 'GET', `${run(runId)}/spent`),
    listItems: (runId, filter) => ask(pageSchema(itemSchema), 'GET', `${run(runId)}/items`, { query: filter }),
    getItem: (runId, seq) => ask(itemSchema, 'GET', `${run(runId)}/items/${seq}`),
    attempts: (runId, seq) => ask(attemptsSchema, 'GET', `${run(runId)}/items/${seq}/attempts`),
    turns: (runId, seq) => ask(turnsSchema, 'GET', `${run(runId)}/items/${seq}/turns`),
    brief: (runId, seq, given) => ask(briefSchema, 'GET', `${run(runId)}/items/${seq}/brief`, { query: given }),
    listActions: (runId, filter) => ask(pageSchema(actionSchema), 'GET', `${run(runId)}/actions`, { query: filter }),
    getAction: (runId, actionId) => ask(actionSchema, 'GET', `${run(runId)}/actions/${actionId}`),
    listEvents: async (runId, filter) => (await ask(z.object({ entries: z.array(eventSchema) }), 'GET', `${run(runId)}/events`, { query: filter })).entries,
    watch: (runId, given) => watchRun(() => getRun(runId), given),
    pause: (runId, options = {}) => ask(verbAnswerSchema, 'POST', `${run(runId)}/pause`, { body: options.reason === undefined ? {} : { reason: options.reason } }),
    resume: (runId, given) => verb('resume', runId, given),
    cancel: (runId, given) => verb('cancel', runId, given),
    compensate: (runId, given) => verb('compensate', runId, given),
    setBudget: (runId, request) => ask(verbAnswerSchema, 'POST', `${run(runId)}/budget`, { body: request }),
    repin: (runId, given) => ask(z.discriminatedUnion('dryRun', [repinAnswerSchema, repinPreviewSchema]), 'POST', `${run(runId)}/repin`, { body: given }),
    bulk: ({ filter, ...request }, given = {}) => ask(bulkStartedSchema, 'POST', '/v1/bulk', { key: given.idempotencyKey, body: { ...request, filter } }),
    bulkStatus: (bulkId, page) => ask(bulkSchema, 'GET', `/v1/bulk/${encodeURIComponent(bulkId)}`, { query: page }),
    exportRun: (runId) => exportOver(options, `${run(runId)}/export`),
    inbox: (filter) => ask(pageSchema(inboxSchema), 'GET', '/v1/inbox', { query: filter }),
    settle: async (runId, actionId, settlement) => await ask(actionSchema, 'POST', `${run(runId)}/actions/${actionId}/settle`, { body: { ...settlement, result: toWire(settlement.result) } }),
    answer: (runId, questionId, value, given = {}) => ask(questionSchema, 'POST', `${run(runId)}/questions/${questionId}/answer`, { body: { answer: toWire(value), note: given.note } }),
    ...approvalVerbs(async (runId, decisions) => (await ask(z.object({ decisions: z.array(approvalDecisionSchema) }), 'POST', `${run(runId)}/approvals`, { body: decisions })).decisions),
    releaseItem: (runId, seq, name, given = {}) => ask(itemSchema, 'POST', `${run(runId)}/items/${seq}/${name}`, { body: given }),
    fleet: () => ask(fleetSchema, 'GET', '/v1/fleet'),
    tools: () => ask(toolsSchema, 'GET', '/v1/tools'),
    close: async () => undefined,
  }
}

/** Names of labels may hold ":", so they travel as JSON. */
const runsQuery = ({ labels, createdAfter, createdBefore, ...filter }: RunsFilter = {}): object => ({
  ...filter, createdAfter: createdAfter?.toISOString(), createdBefore: createdBefore?.toISOString(), label: labels === undefined ? undefined : JSON.stringify(labels),
})

async function* linesOf(header: unknown, items: AsyncIterable<ItemSeed> | Iterable<ItemSeed>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  yield encoder.encode(`${JSON.stringify(header)}\n`)
  let text = ''
  for await (const { key, payload } of items) {
    text += `${JSON.stringify({ key, payload: toWire(payload) })}\n`
    if (text.length < 65_536) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}

async function* exportOver(options: HttpOptions, path: string): AsyncGenerator<ExportLine, void, undefined> {
  const { response, host } = await open(options, 'GET', path, { accept: 'application/x-ndjson' })
  if (!response.ok || response.body === null) throw errorOf(response.status, await response.text(), host)
  yield* readExport(response.body, host)
}

async function send(options: HttpOptions, method: string, path: string, call: Call): Promise<unknown> {
  const { response, host } = await open(options, method, path, call)
  const text = await response.text()
  if (response.ok) return JSON.parse(text) as unknown
  throw errorOf(response.status, text, host)
}

/** The answer's head. What is streamed, either way, takes as long as it takes. */
async function open(options: HttpOptions, method: string, path: string, call: Call): Promise<{ response: Response; host: string }> {
  const url = new URL(options.url.replace(/\/$/, '') + path)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    for (const each of Array.isArray(value) ? value as unknown[] : [value]) if (each !== undefined) url.searchParams.append(name, String(each))
  }
  const headers: Record<string, string> = { ...options.headers, accept: call.accept ?? 'application/json' }
  if (options.token !== undefined) headers['authorization'] = `Bearer ${options.token}`
  // Header values are bytes: the key travels as UTF-8.
  if (call.key !== undefined) headers['idempotency-key'] = String.fromCharCode(...new TextEncoder().encode(call.key))
  if (typeof call.traceParent === 'string') headers['traceparent'] = call.traceParent
  const body = bodyOf(call, headers)
  const isStreamed = call.lines !== undefined || call.accept !== undefined
  try {
    return { host: url.host, response: await fetch(url, { method, headers, redirect: 'error', ...body, ...(isStreamed ? {} : { signal: AbortSignal.timeout(options.timeoutMs ?? 30_000) }) }) }
  } catch (cause) {
    throw new PawlError('PRODUCER_UNREACHABLE', `The producer at ${url.host} did not answer (${reasonOf(cause)}). Whether it acted is unknown: ask again, starts with the same idempotencyKey.`, 'retry', { host: url.host }, { cause })
  }
}

function bodyOf(call: Call, headers: Record<string, string>): RequestInit {
  if (call.lines !== undefined) {
    headers['content-type'] = 'application/x-ndjson'
    return { body: ReadableStream.from(call.lines), duplex: 'half' } as RequestInit
  }
  if (call.body === undefined) return {}
  headers['content-type'] = 'application/json'
  return { body: JSON.stringify(call.body) }
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}

function errorOf(status: number, text: string, host: string): PawlError {
  try {
    const { code, detail, type: _type, title: _title, status: _status, instance: _instance, ...details } = problem.parse(JSON.parse(text))
    return new PawlError(code, detail, status >= 500 ? 'retry' : 'tell', details)
  } catch {
    return new PawlError('PRODUCER_FAILED', `${host} answered ${status} without a problem document: is it a Pawl producer? It said: ${text.slice(0, 200)}`, 'retry', { status })
  }
}
