/** One request is one request: what ends where is not open to two readings, and what a proxy or a client slips in does not become another. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSocket, readAnswer, sendRaw } from './ground/raw.ts'
import { openSite, type Site } from './ground/site.ts'

let site: Site
let runId: string
beforeAll(async () => {
  site = await openSite()
  runId = (await site.direct.startRun('plain', null, { items: [{ key: 'one', payload: null }] })).id
})
afterAll(() => site?.close())

const apps = () => [site.producer, site.dashboard.url]
/** What an attacker would have a victim’s connection say. */
const smuggled = () => `POST /v1/runs/${runId}/pause HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${site.tokens.all}\r\ncontent-length: 0\r\n\r\n`

describe('a request with two readings', () => {
  const headers = (lines: readonly string[]): string => ['POST /v1/runs HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json', ...lines, '', ''].join('\r\n')
  const readings: [string, () => string][] = [
    ['length and chunks', () => `${headers(['content-length: 4', 'transfer-encoding: chunked'])}0\r\n\r\n${smuggled()}`],
    ['chunks and length', () => `${headers(['transfer-encoding: chunked', 'content-length: 6'])}0\r\n\r\n${smuggled()}`],
    ['two lengths', () => `${headers(['content-length: 0', `content-length: ${smuggled().length}`])}${smuggled()}`],
    ['two lengths in one', () => `${headers([`content-length: 0, ${smuggled().length}`])}${smuggled()}`],
    ['a signed length', () => `${headers(['content-length: +0'])}${smuggled()}`],
    ['a length of letters', () => `${headers(['content-length: 0x0'])}${smuggled()}`],
    ['a negative length', () => `${headers(['content-length: -1'])}${smuggled()}`],
    ['a space before the colon', () => `${headers(['transfer-encoding : chunked', 'content-length: 5'])}0\r\n\r\n${smuggled()}`],
    ['chunks that are not last', () => `${headers(['transfer-encoding: chunked, identity'])}0\r\n\r\n${smuggled()}`],
    ['an encoding nobody knows', () => `${headers(['transfer-encoding: xchunked'])}0\r\n\r\n${smuggled()}`],
    ['a folded header', () => `${headers(['x: y', ' transfer-encoding: chunked', 'content-length: 5'])}0\r\n\r\n${smuggled()}`],
    ['a bare line feed', () => `${headers(['x: y\ntransfer-encoding: chunked', 'content-length: 5'])}0\r\n\r\n${smuggled()}`],
    ['a bare carriage return', () => `${headers(['x: y\rtransfer-encoding: chunked', 'content-length: 5'])}0\r\n\r\n${smuggled()}`],
    ['a NUL in a header', () => `${headers(['x: y\0z', 'content-length: 0'])}${smuggled()}`],
    ['a chunk size of letters', () => `${headers(['transfer-encoding: chunked'])}0x5\r\nabcde\r\n0\r\n\r\n${smuggled()}`],
    ['a chunk size beyond numbers', () => `${headers(['transfer-encoding: chunked'])}ffffffffffffffffff\r\nabc`],
    ['a method nobody knows', () => `PWN /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n${smuggled()}`],
    ['a line that is none', () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03`],
    ['HTTP/2 without having agreed to it', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ]
  test.for(readings)('(%s) is refused, the connection is closed, and nothing behind it is read', async ([, request]) => {
    for (const url of apps()) {
      const { status, isClosed, count, text } = await sendRaw(url, Buffer.from(request(), 'latin1'))
      expect([url, status, isClosed, count]).toEqual([url, 400, true, 1])
      expect(text).not.toContain(runId)
    }
    expect((await site.direct.getRun(runId)).paused).toBe(false)
  })

  test('is not one that is merely big: too many or too long headers are refused', async () => {
    for (const url of apps()) {
      expect((await sendRaw(url, `GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`)).status).toBe(431)
      expect((await sendRaw(url, `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)).status).toBe(431)
      expect((await sendRaw(url, `GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n${'x: yyyyyyyyyy\r\n'.repeat(5_000)}\r\n`)).status).toBe(431)
      expect((await sendRaw(url, 'GET /health HTTP/1.1\r\n\r\n')).status).toBe(400)
    }
  })
})

test('what follows a body that was refused is not taken for a request', async () => {
  const body = `{"agent":"plain","input":"${'x'.repeat(200)}"`
  const request = `POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${site.tokens.all}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length + smuggled().length}\r\n\r\n${body}${smuggled()}`
  const { status, count } = await sendRaw(site.producer, request, 2_000)
  expect([status, count]).toEqual([415, 1])
  expect((await site.direct.getRun(runId)).paused).toBe(false)
})

test('a path is taken as it is written: no dots, slashes or backslashes in disguise lead to another', async () => {
  const ways = ['/../metrics', '/v1/../metrics', '/v1/%2e%2e/metrics', '/v1/..%2fmetrics', '/v1/..%5cmetrics', '//metrics', '/v1//runs', '/V1/runs', '/v1/runs/', '/v1/runs%00', '/v1/runs;x=y', '/./metrics', '/metrics%2f', '/metrics/.', 'http://evil.example/metrics', '*']
  for (const url of apps()) {
    for (const path of ways) {
      const { status } = await sendRaw(url, `GET ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n\r\n`, 2_000)
      expect([path, [302, 400, 401, 403, 404].includes(status)]).toEqual([path, true])
    }
  }
})

test('the API behind the dashboard cannot be led elsewhere, nor be told who asks by the browser', async () => {
  const olga = await site.login('olga')
  for (const path of ['/api/v1/../../metrics', '/api/v1/%2e%2e/%2e%2e/metrics', '/api/v1/..%2f..%2fmetrics', '/api/v1/..%5c..%5cmetrics', '/api/metrics', '/api/health', '/api//metrics', '/api/v1//evil.example/x', '/api/v1/@evil.example', '/api/docs', '/api/openapi.json', '/api/v1/runs/..%2f..%2f..%2fmetrics']) {
    const [name, value] = olga.session()
    const { text, status } = await sendRaw(site.dashboard.url, `GET ${path} HTTP/1.1\r\nhost: ${new URL(site.dashboard.url).host}\r\ncookie: ${name}=${value}\r\naccept: application/json\r\nconnection: close\r\n\r\n`, 3_000)
    expect([path, text.includes('pawl_http_requests_total'), text.includes('"openapi"'), status < 500]).toEqual([path, false, false, true])
  }
})

test('two requests on one connection are two answers, in order, each with its own rights', async () => {
  const socket = await openSocket(site.producer)
  const get = (path: string, token: string | undefined, last = false): string => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${token === undefined ? '' : `authorization: Bearer ${token}\r\n`}${last ? 'connection: close\r\n' : ''}\r\n`
  socket.write(get(`/v1/runs/${runId}`, site.tokens.all) + get(`/v1/runs/${runId}`, undefined) + get(`/v1/runs/${runId}`, site.tokens.foreign, true))
  const { text } = await readAnswer(socket, 5_000)
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual(['200', '401', '404'])
})
