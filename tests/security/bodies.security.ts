/** What a sender can do with the shape, size and pace of what it sends: get a refusal, and keep nobody else from being served. */
import { createGzip } from 'node:zlib'
import { createHttpClient } from '@pawl/client/http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from './ground/browser.ts'
import { startService, type Service } from './ground/processes.ts'
import { openSocket, readAnswer, sendRaw } from './ground/raw.ts'
import { producerRoutes } from './ground/routes.ts'
import { ask, openSite, type Site } from './ground/site.ts'

let site: Site
let runId: string
/** In processes of their own: a client that is slow here must not be slow because of us. */
let alone: { readonly producer: Service; readonly dashboard: Service }
beforeAll(async () => {
  site = await openSite()
  runId = (await site.direct.startRun('plain', null, { items: [{ key: 'one', payload: null }] })).id
  const [producer, dashboard] = await Promise.all([
    startService('producer', { ...site.places, PAWL_CONFIG: new URL('ground/agents.ts', import.meta.url).pathname }), startService('dashboard', site.dashboardEnv),
  ])
  alone = { producer, dashboard }
})
afterAll(async () => {
  await Promise.all([alone?.producer.stop(), alone?.dashboard.stop()])
  await site?.close()
})

const all = () => site.tokens.all
const writes = () => producerRoutes({ run: runId, seq: '1', action: '1', question: '1' }).filter(({ method }) => method === 'POST')
const repeated = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length))

/** Each body to each route that takes one: refused as what it is, at once. */
async function refused(body: string | Uint8Array, headers: Record<string, string> = {}, withinMs = 10_000): Promise<void> {
  const wrong: string[] = []
  for (const { path } of writes()) {
    const begun = Date.now()
    const { status, headers: answered } = await ask(site, all(), 'POST', path, body instanceof Uint8Array ? Buffer.from(body).toString('latin1') : body, headers)
    if (status < 400 || status >= 500 || answered.get('content-type') !== 'application/problem+json' || Date.now() - begun > withinMs) wrong.push(`${path}: ${status} after ${Date.now() - begun} ms`)
  }
  expect(wrong).toEqual([])
  expect((await ask(site, all(), 'GET', '/v1/runs')).status).toBe(200)
}

describe('a body', () => {
  test('that nests 100,000 deep is refused', async () => {
    await refused(repeated('[', 100_000))
    await refused(repeated('{"a":', 500_000))
    await refused(`{"agent":"plain","input":${repeated('[', 50_000)}${repeated(']', 50_000)},"answer":${repeated('[', 50_000)}${repeated(']', 50_000)}}`)
    // For its depth, and before anything walks it.
    const { status, text } = await ask(site, all(), 'POST', '/v1/runs', `{"agent":"plain","input":${repeated('[', 50_000)}${repeated(']', 50_000)}}`)
    expect({ status, code: (JSON.parse(text) as { code: string }).code }).toEqual({ status: 400, code: 'BAD_DEPTH' })
  })

  test('that is too big is refused, announced or not', async () => {
    const { status } = await ask(site, all(), 'POST', '/v1/runs', `{"agent":"plain","input":"${'x'.repeat(10_500_000)}"}`)
    expect(status).toBe(413)
    const endless = async function* () { for (let i = 0; i < 200; i++) yield new Uint8Array(100_000).fill(32) }
    const response = await fetch(`${site.producer}/v1/runs`, { method: 'POST', duplex: 'half', body: ReadableStream.from(endless()), headers: { authorization: `Bearer ${all()}`, 'content-type': 'application/json' } } as RequestInit)
    expect(response.status).toBe(413)
    const browser = new Browser(site.dashboard.url)
    for (const body of ['x'.repeat(2_100_000), new URLSearchParams({ csrf: 'x'.repeat(3_000_000) })]) expect((await browser.send('POST', '/login', { body })).status).toBe(413)
    // On a connection of its own: the one that brought too much is closed.
    expect((await sendRaw(site.dashboard.url, `GET /login HTTP/1.1\r\nhost: ${new URL(site.dashboard.url).host}\r\nconnection: close\r\n\r\n`)).status).toBe(200)
  })

  test('that is packed is refused unread: a bomb is not opened', async () => {
    const gzip = createGzip()
    gzip.end(Buffer.alloc(50_000_000))
    const packed: Buffer[] = []
    for await (const chunk of gzip) packed.push(chunk as Buffer)
    for (const encoding of ['gzip', 'br', 'deflate', 'gzip, gzip']) {
      const response = await fetch(`${site.producer}/v1/runs`, { method: 'POST', body: Buffer.concat(packed), headers: { authorization: `Bearer ${all()}`, 'content-type': 'application/json', 'content-encoding': encoding } })
      expect(response.status).toBe(415)
    }
  })

  test('that is no JSON of ours is refused: other types, broken text, NUL, half of a pair', async () => {
    for (const body of ['', ' ', 'null', '[]', '1', '"x"', '{', '{"a":1}{"b":2}', '\0', 'NaN', "{'a':1}", '{"unknownMember":1}', '{"reason":1}', '{"reason":"\\u0000"}', '{"reason":"\\ud800"}', `{"reason":"${'x'.repeat(3_000)}"}`, '\xff\xfe']) {
      for (const { path } of writes()) {
        const { status, text } = await ask(site, all(), 'POST', path, body)
        expect([path, body, status < 500, text.includes('    at ')]).toEqual([path, body, true, false])
      }
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'multipart/form-data; boundary=x']) {
      expect((await ask(site, all(), 'POST', '/v1/runs', '{"agent":"plain"}', { 'content-type': type })).status).toBe(415)
    }
  })

  test('cannot change what every object is: __proto__, constructor and prototype are names, or refused', async () => {
    const evil = ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"labels":{"__proto__":"polluted"},"agent":"plain"}', '{"policy":{"__proto__":{"polluted":1}},"agent":"plain"}', '{"agent":"plain","input":{"__proto__":{"polluted":1}},"items":[{"key":"x","payload":{"__proto__":{"polluted":1}}}]}']
    for (const { path } of writes()) for (const body of evil) expect((await ask(site, all(), 'POST', path, body)).status).toBeLessThan(500)
    for (const query of ['?__proto__[polluted]=1', '?__proto__.polluted=1', '?constructor[prototype][polluted]=1', '?label=__proto__:polluted', `?label=${encodeURIComponent('{"__proto__":{"polluted":"1"}}')}`, '?label=constructor:x']) {
      expect((await ask(site, all(), 'GET', `/v1/runs${query}`)).status).toBeLessThan(500)
    }
    const browser = new Browser(site.dashboard.url)
    await browser.send('POST', '/login', { body: new URLSearchParams({ '__proto__[polluted]': '1', '__proto__.polluted': '1', 'constructor.prototype.polluted': '1', name: '__proto__', password: 'x' }) })
    for (const path of ['/static/__proto__', '/static/constructor', '/queues/static/__proto__', '/docs/__proto__']) expect((await browser.get(path)).status).toBeLessThan(500)
    for (const path of ['/docs/__proto__', '/docs/constructor', '/docs/toString']) expect([path, (await ask(site, all(), 'GET', path)).status]).toEqual([path, 404])
    expect([{}, [], () => 0].map((each) => Reflect.get(each, 'polluted') as unknown)).toEqual([undefined, undefined, undefined])
    // Kept as it was sent, where it was a value.
    const { id } = JSON.parse((await ask(site, all(), 'POST', '/v1/runs', '{"agent":"plain","input":{"__proto__":{"polluted":1},"own":2},"items":[]}')).text) as { id?: string }
    if (id !== undefined) {
      const { input } = JSON.parse((await ask(site, all(), 'GET', `/v1/runs/${id}`)).text) as { input: object }
      expect(Reflect.get(Object.create(input) as object, 'polluted')).toBe(undefined)
    }
  })
})

describe('a value in few bytes that say much', () => {
  const levels = (n: number): unknown[] => Array.from({ length: n }, (_, i) => [i + 1, i + 1])
  /** What the ledger's codec reads: each list holds the next one twice. */
  const doubled = (n: number, end: unknown = 'x') => ({ $encoded: `~${JSON.stringify([...levels(n), end])}` })
  const timed = async (path: string, body: unknown, type = 'application/json'): Promise<{ status: number; code: unknown; ms: number }> => {
    const begun = performance.now()
    const { status, text } = await ask(site, all(), 'POST', path, body, { 'content-type': type })
    return { status, code: (JSON.parse(text) as { code?: unknown }).code, ms: performance.now() - begun }
  }
  /** Every way by which a value comes in. */
  const ways = (value: unknown): [string, unknown, string?][] => [
    ['/v1/runs', { agent: 'plain', input: value, items: [] }], ['/v1/runs', { agent: 'plain', items: [{ key: 'a', payload: value }] }],
    ['/v1/runs', `${JSON.stringify({ agent: 'plain', input: value })}\n`, 'application/x-ndjson'], ['/v1/runs', `{"agent":"plain"}\n${JSON.stringify({ key: 'a', payload: value })}\n`, 'application/x-ndjson'],
    [`/v1/runs/${runId}/questions/1/answer`, { answer: value }], [`/v1/runs/${runId}/actions/1/settle`, { answer: 'happened', attempt: 1, evidence: 0, result: value }],
  ]
  const slowOrTaken = async (value: unknown): Promise<string[]> => {
    const found: string[] = []
    for (const [path, body, type] of ways(value)) {
      const { status, code, ms } = await timed(path, body, type)
      if (status < 400 || status >= 500 || code === 'NOT_FOUND' || ms > 1_000) found.push(`${path} (${type ?? 'application/json'}): ${status} ${String(code)} after ${Math.round(ms)} ms`)
    }
    return found
  }

  test('is refused at once, wherever it comes in: one thing in a trillion places, a list a billion long, a number without end', async () => {
    // The first is what takes seconds and not for ever, where nothing counts.
    for (const value of [doubled(22), doubled(40), doubled(40, ['Date', '2026-01-01T00:00:00.000Z']), { $encoded: '~[[-7,1000000000]]' }, { $encoded: `~[["BigInt","${'9'.repeat(900_000)}"]]` }]) expect(await slowOrTaken(value)).toEqual([])
    // A member that the agent's schema throws away is gone through all the same.
    const hidden = { $encoded: `~${JSON.stringify([{ value: 1, end: 2, extra: 3 }, 'v', 'done', ...Array.from({ length: 40 }, (_, i) => [i + 4, i + 4]), 'x'])}` }
    expect(await timed('/v1/runs', { agent: 'courier', items: [{ key: 'a', payload: hidden }] })).toMatchObject({ status: 413, code: 'TOO_LARGE' })
  })

  test('is counted over the whole of a request: many that are each just small enough are not', async () => {
    const many = Array.from({ length: 200 }, (_, i) => ({ key: `k${i}`, payload: doubled(15, ['Date', '2026-01-01T00:00:00.000Z']) }))
    for (const [body, type] of [[{ agent: 'plain', items: many }], [`{"agent":"plain"}\n${many.map((item) => JSON.stringify(item)).join('\n')}`, 'application/x-ndjson']] as const) {
      const { status, code, ms } = await timed('/v1/runs', body, type)
      expect([status, code, ms < 3_000]).toEqual([413, 'TOO_LARGE', true])
    }
  })

  test('is taken where it is of use: a thing that is in some places, and words that come again and again', async () => {
    const shared = { at: new Date(0), words: 'of a row '.repeat(20) }
    const payload = { rows: Array.from({ length: 500 }, (_, n) => ({ n: BigInt(n), shared, words: shared.words })), first: shared }
    const items = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, payload: { at: new Date(i), a: 'the same words', b: 'the same words', c: ['the same words', 'the same words'] } }))
    const over = createHttpClient({ url: site.producer, token: all() })
    const { id } = await over.startRun('plain', payload, { items })
    expect((await over.getRun(id)).input).toStrictEqual(payload)
    expect((await site.direct.listItems(id, { limit: 100 })).entries.map((item) => item.payload)).toStrictEqual(items.map((item) => item.payload))
  })
})

describe('a text that a pattern could choke on', () => {
  const slow = (bytes: number): string[] => ['a', ' ', '0', '(', '-', '.', 'a@', '{"', '%2e', '\\', '../', 'x:', '!'].map((piece) => `${repeated(piece, bytes)}é`)

  test('is answered in no time, wherever it stands: path, query, header, body', async () => {
    const late: string[] = []
    const timed = async (what: string, act: () => Promise<{ status: number }>): Promise<void> => {
      if (late.length > 2) return
      const begun = performance.now()
      // A process that chokes answers nobody any more: the wait for it ends here.
      const waited = new Promise<{ status: number }>((resolve) => { setTimeout(() => resolve({ status: 599 }), 10_000).unref() })
      const { status } = await Promise.race([act(), waited])
      const ms = performance.now() - begun
      // 431: it was not read at all, and nothing was tried.
      if (status >= 500 || status === 431 || ms > 3_000) late.push(`${what}: ${status} after ${Math.round(ms)} ms`)
    }
    for (const text of slow(8_000)) {
      const quoted = `${encodeURIComponent(text).slice(0, 9_000).replace(/%\w?$/, '')}%C3%A9`
      for (const path of [`/v1/runs/${quoted}`, `/v1/runs?label=${quoted}`, `/v1/runs?cursor=${quoted}`, `/v1/runs?agent=${quoted}`, `/v1/runs?status=${quoted}`, `/v1/runs/${runId}/items/${quoted}`, `/docs/${quoted}`]) await timed(`GET ${path.slice(0, 60)}`, () => ask(site, all(), 'GET', path))
      for (const name of ['authorization', 'content-type', 'accept', 'last-event-id', 'idempotency-key', 'origin', 'content-encoding']) await timed(`${name} ${text.slice(0, 5)}`, () => ask(site, all(), 'POST', '/v1/runs', '{}', { [name]: `Bearer ${text.trim()}` }))
      const browser = new Browser(alone.dashboard.url)
      for (const path of [`/login?next=/${quoted}`, `/login?link=${quoted}`, `/${quoted}`, `/queues/${quoted}`]) await timed(`dashboard ${path.slice(0, 40)}`, () => browser.get(path))
      await timed(`cookie ${text.slice(0, 5)}`, () => browser.get('/login', { cookie: `pawl_1=${quoted}; x=${quoted.slice(0, 2_000)}` }))
    }
    for (const text of slow(1_500_000)) {
      await timed(`body ${text.slice(0, 5)}`, () => ask(site, all(), 'POST', '/v1/runs', text))
      await timed(`text ${text.slice(0, 5)}`, () => ask(site, all(), 'POST', `/v1/runs/${runId}/pause`, JSON.stringify({ reason: text })))
      await timed(`form ${text.slice(0, 5)}`, () => new Browser(alone.dashboard.url).send('POST', '/login', { body: new URLSearchParams({ name: text.slice(0, 500_000) }) }))
    }
    expect(late).toEqual([])
  })
})

describe.concurrent('a slow client', () => {
  const apps = ['producer', 'dashboard'] as const
  /** How long somebody else’s request takes meanwhile. */
  const serves = async (url: string): Promise<number> => {
    const begun = Date.now()
    expect((await fetch(`${url}/health`)).status).toBe(200)
    return Date.now() - begun
  }

  test.for(apps)('that never ends its headers is cut off by the %s, three hundred of them hold up nobody', { timeout: 120_000 }, async (name) => {
    const { url } = alone[name]
    const sockets = await Promise.all(Array.from({ length: 300 }, async () => await openSocket(url)))
    for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ')
    const dripping = setInterval(() => { for (const socket of sockets) socket.write('x') }, 500)
    try {
      expect(await serves(url)).toBeLessThan(5_000)
      const answers = await Promise.all(sockets.map(async (socket) => await readAnswer(socket, 30_000)))
      expect(answers.every(({ isClosed, status }) => isClosed && (status === 408 || status === 0))).toBe(true)
    } finally {
      clearInterval(dripping)
    }
  })

  test.for(apps)('that never ends its body is cut off by the %s', { timeout: 120_000 }, async (name) => {
    const { url } = alone[name]
    const { host } = new URL(url)
    const sockets = await Promise.all(Array.from({ length: 50 }, async () => await openSocket(url)))
    const path = name === 'producer' ? '/v1/runs' : '/login'
    for (const socket of sockets) socket.write(`POST ${path} HTTP/1.1\r\nhost: ${host}\r\norigin: ${url}\r\ncontent-type: application/${name === 'producer' ? 'json' : 'x-www-form-urlencoded'}\r\ncontent-length: 1000000\r\n\r\n{`)
    const dripping = setInterval(() => { for (const socket of sockets) socket.write(' ') }, 500)
    try {
      expect(await serves(url)).toBeLessThan(5_000)
      const answers = await Promise.all(sockets.map(async (socket) => await readAnswer(socket, 60_000)))
      expect(answers.map(({ isClosed, status }) => [isClosed, status])).toEqual(answers.map(() => [true, 408]))
    } finally {
      clearInterval(dripping)
    }
  })
})
