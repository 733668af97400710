import { newId } from '@pawl/core'
import { withTransaction } from '@pawl/ledger'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { startProducer } from './index.ts'
import { ask, mailing, openProducer, sha256, type TestProducer } from './producer.testsuite.ts'

let open: TestProducer
let guarded: TestProducer

beforeAll(async () => {
  [open, guarded] = await Promise.all([
    openProducer(),
    openProducer({ PAWL_TOKENS: [`reader:read:${sha256('r')}`, `runner:run:${sha256('u')}`, `ops:read+run+operate:${sha256('o')}`, `red:read+run+operate:${sha256('red')}:red`].join(',') }),
  ])
})
afterAll(async () => { await Promise.all([open.close(), guarded.close()]) })

const start = async (producer: TestProducer, headers: Record<string, string> = {}): Promise<string> =>
  String((await ask(producer.url, 'POST', '/v1/runs', { agent: 'stock', items: [{ key: 'a', payload: 1 }] }, headers)).body['id'])

describe('POST /v1/runs', () => {
  test('answers 201 with the run’s place, and 200 when the key named it already', async () => {
    const body = { agent: 'mailing', input: { recipients: ['a'] } }
    const [first, second] = [await ask(open.url, 'POST', '/v1/runs', body, { 'idempotency-key': 'k' }), await ask(open.url, 'POST', '/v1/runs', body, { 'idempotency-key': 'k' })]
    expect([first.status, first.headers.get('location'), second.status]).toEqual([201, `/v1/runs/${String(first.body['id'])}`, 200])
    expect(second.body).toEqual({ id: first.body['id'], isNew: false })
    const conflict = await ask(open.url, 'POST', '/v1/runs', { ...body, labels: { a: 'b' } }, { 'idempotency-key': 'k' })
    expect(conflict).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_CONFLICT', status: 422, runId: first.body['id'] } })
    expect(conflict.headers.get('content-type')).toBe('application/problem+json')
  })

  test.each<[string, number, string, RegExp, unknown, Record<string, string>]>([
    ['text that is no JSON', 400, 'MALFORMED_JSON', /body is not JSON/, '{"agent": ', {}],
    ['no body', 400, 'MALFORMED_JSON', /body/, '', {}],
    ['an array', 400, 'BAD_REQUEST', /body: .*object/, [], {}],
    ['a missing agent', 400, 'BAD_REQUEST', /body\.agent.*string/, { input: 1 }, {}],
    ['a misspelt member', 400, 'BAD_REQUEST', /imput/, { agent: 'stock', imput: 1 }, {}],
    ['items that are no list', 400, 'BAD_REQUEST', /body\.items.*array/, { agent: 'stock', items: { a: 1 } }, {}],
    ['another media type', 415, 'UNSUPPORTED_MEDIA_TYPE', /Content-Type: application\/json/, 'agent=stock', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a compressed body', 415, 'UNSUPPORTED_MEDIA_TYPE', /not compressed/, '{}', { 'content-encoding': 'gzip' }],
    ['an integer a double would change', 400, 'BAD_NUMBER', /9007199254740993/, '{"agent":"stock","items":[],"input":{"id":9007199254740993}}', {}],
    ['an amount a double would change', 400, 'BAD_NUMBER', /0\.12345678901234567891/, '{"agent":"stock","items":[],"input":0.12345678901234567891}', {}],
    ['nesting of a million', 400, 'BAD_DEPTH', /deeper/, `{"agent":"stock","items":[],"input":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`, {}],
    ['a __proto__ member', 422, 'UNSTORABLE', /__proto__/, '{"agent":"stock","items":[],"input":{"__proto__":{"a":1}}}', {}],
    ['a body over 10 MB', 413, 'BODY_TOO_LARGE', /x-ndjson/, `{"agent":"stock","input":"${'x'.repeat(10_000_001)}"}`, {}],
    ['an envelope that holds nothing', 400, 'BAD_VALUE', /\$encoded/, { agent: 'stock', items: [], input: { $encoded: 5 } }, {}],
    ['an unknown agent', 422, 'UNKNOWN_AGENT', /Known: "mailing", "stock"/, { agent: 'nobody' }, {}],
  ])('%s is refused with the way out and leaves nothing behind', async (_, status, code, sentence, body, headers) => {
    const before = await open.countRuns()
    const answer = await ask(open.url, 'POST', '/v1/runs', body, headers)
    expect(answer).toMatchObject({ status, body: { code, status } })
    expect(String(answer.body['detail'])).toMatch(sentence)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(await open.countRuns()).toBe(before)
  })

  test('big digits sent as text come back the same', async () => {
    const { body } = await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items: [], input: { id: '9007199254740993' } })
    expect((await ask(open.url, 'GET', `/v1/runs/${String(body['id'])}`)).body['input']).toEqual({ id: '9007199254740993' })
  })

  test('a key used for a start does not answer another verb', async () => {
    const { body } = await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items: [] , input: 'verbs' }, { 'idempotency-key': 'shared' })
    const cancelled = await ask(open.url, 'POST', `/v1/runs/${String(body['id'])}/cancel`, {}, { 'idempotency-key': 'shared' })
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled', dryRun: false } })
  })
})

describe('who may do what', () => {
  const as = (token: string) => ({ authorization: `Bearer ${token}` })

  test('every route but health, docs and readiness needs a known token', async () => {
    const id = newId()
    const routes: [string, string][] = [
      ['GET', '/v1/runs'], ['POST', '/v1/runs'], ['GET', `/v1/runs/${id}`], ['GET', `/v1/runs/${id}/items`], ['GET', `/v1/runs/${id}/items/1`], ['GET', `/v1/runs/${id}/actions`], ['GET', `/v1/runs/${id}/events`],
      ...['pause', 'budget', 'resume', 'cancel', 'compensate', 'actions/1/settle', 'items/1/resume', 'items/1/fail'].map((path): [string, string] => ['POST', `/v1/runs/${id}/${path}`]), ['GET', '/v1/inbox'], ['GET', '/metrics'],
    ]
    for (const [method, path] of routes) {
      for (const headers of [{}, as('wrong')]) {
        expect(await ask(guarded.url, method, path, undefined, headers), `${method} ${path}`).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
      }
    }
    for (const path of ['/health', '/ready', '/docs', '/openapi.json']) expect((await ask(guarded.url, 'GET', path)).status).toBe(200)
  })

  test('each scope opens its own routes only', async () => {
    const id = await start(guarded, as('u'))
    expect(await ask(guarded.url, 'GET', `/v1/runs/${id}`, undefined, as('u'))).toMatchObject({ status: 403, body: { code: 'FORBIDDEN', scope: 'read' } })
    expect((await ask(guarded.url, 'GET', `/v1/runs/${id}`, undefined, as('r'))).status).toBe(200)
    expect((await ask(guarded.url, 'POST', '/v1/runs', { agent: 'stock', items: [] }, as('r'))).status).toBe(403)
    for (const token of ['r', 'u']) expect((await ask(guarded.url, 'POST', `/v1/runs/${id}/cancel`, {}, as(token))).status).toBe(403)
    expect((await ask(guarded.url, 'POST', `/v1/runs/${id}/cancel`, {}, as('o'))).status).toBe(200)
    await expect.poll(async () => {
      const { body } = await ask(guarded.url, 'GET', `/v1/runs/${id}/events`, undefined, { ...as('r'), accept: 'application/json' })
      return (body['entries'] as { kind: string; actor: string }[]).filter((event) => event.actor !== 'pawl').map((event) => [event.kind, event.actor])
    }, { timeout: 10_000 }).toEqual([['run.created', 'runner'], ['run.ended', 'ops']])
  })

  test('a run of another namespace is answered like one that does not exist', async () => {
    const id = await start(guarded, as('o'))
    const unknown = newId()
    for (const [method, path] of [['GET', ''], ['GET', '/items'], ['GET', '/events'], ['POST', '/cancel'], ['POST', '/items/1/fail']] as const) {
      const [foreign, missing] = await Promise.all([id, unknown].map(async (run) => {
        const answer = await ask(guarded.url, method, `/v1/runs/${run}${path}`, undefined, as('red'))
        return JSON.stringify([answer.status, answer.body]).replaceAll(run, 'RUN')
      }))
      expect(foreign).toBe(missing)
      expect(foreign).toContain('404')
    }
  })

  test('without tokens a web page cannot reach it, by its own name or another', async () => {
    const { port } = new URL(open.url)
    const raw = async (headers: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(`GET /v1/runs HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      await once(socket, 'close')
      return Buffer.concat(chunks).toString()
    }
    expect(await raw(`Host: evil.example:${port}\r\n`)).toContain('FOREIGN_ORIGIN')
    expect(await raw(`Host: 127.0.0.1:${port}\r\nOrigin: https://evil.example\r\n`)).toContain('FOREIGN_ORIGIN')
    expect(await raw(`Host: 127.0.0.1:${port}\r\n`)).toContain('200 OK')
  })
})

describe('verbs', () => {
  test('a verb in the wrong state is a 409 that names the state', async () => {
    const id = await start(open)
    await ask(open.url, 'POST', `/v1/runs/${id}/cancel`)
    for (const verb of ['pause', 'cancel']) {
      expect(await ask(open.url, 'POST', `/v1/runs/${id}/${verb}`, {})).toMatchObject({ status: 409, body: { code: 'WRONG_STATE', state: 'cancelled', detail: expect.stringContaining('cancelled') as string } })
    }
    expect(await ask(open.url, 'POST', `/v1/runs/${id}/items/1/fail`, {})).toMatchObject({ status: 409, body: { code: 'WRONG_STATE' } })
  })

  test('dryRun=true changes nothing', async () => {
    const id = await start(open)
    expect((await ask(open.url, 'POST', `/v1/runs/${id}/cancel?dryRun=true`)).body).toMatchObject({ dryRun: true, verb: 'cancel', items: { stopped: 1 } })
    expect((await ask(open.url, 'GET', `/v1/runs/${id}`)).body['status']).toBe('running')
    expect((await ask(open.url, 'POST', `/v1/runs/${id}/cancel?dryrun=true`)).status).toBe(400)
  })

  test.each([['GET', '/v1/runs?limit=0'], ['GET', '/v1/runs?limit=x'], ['GET', '/v1/runs?status=nope'], ['GET', '/v1/runs?cursor=x'], ['GET', '/v1/runs?agnet=x'], ['GET', '/v1/runs?label=x']])('%s %s is a 400 that says why', async (method, path) => {
    expect(await ask(open.url, method, path)).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/limit|status|cursor|agnet|label/) as string } })
  })

  test.each(['label=team:red&label=team:blue', 'label=team:red&label=%7B%22team%22%3A%22blue%22%7D'])('%s asks for what no run can have: a 400 that names both values, of lists and of counts', async (query) => {
    for (const path of ['/v1/runs', '/v1/runs/counts']) {
      expect(await ask(open.url, 'GET', `${path}?${query}`)).toMatchObject({ status: 400, body: { code: 'BAD_LABELS', detail: expect.stringMatching(/"team" with two values, "red" and "blue"/) as string } })
    }
  })

  test('labels of several names must all hold, and one said twice is one', async () => {
    const { body } = await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items: [], labels: { team: 'green', order: '1' } })
    await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items: [], labels: { team: 'green', order: '2' } })
    const found = await ask(open.url, 'GET', '/v1/runs?label=team:green&label=order:1&label=team:green')
    expect(found.body['entries']).toMatchObject([{ id: body['id'] }])
    expect((await ask(open.url, 'GET', '/v1/runs?label=__proto__:x')).body['entries']).toEqual([])
  })

  test('an unknown path is a problem document too', async () => {
    expect(await ask(open.url, 'GET', '/v2/runs')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  })
})

describe('GET /v1/runs/:id/events', () => {
  /** Ids and kinds read from the stream until `count` of them came. */
  async function follow(path: string, count: number, headers: Record<string, string> = {}): Promise<string[]> {
    const gone = new AbortController()
    const response = await fetch(open.url + path, { headers, signal: gone.signal })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    let text = ''
    const found: string[] = []
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array)
      found.splice(0, Infinity, ...[...text.matchAll(/event: (\S+)\ndata: .*\nid: (\d+)\n\n/g)].map((match) => `${match[2]} ${match[1]}`))
      if (found.length >= count) break
    }
    gone.abort()
    return found
  }

  test('goes on where the last connection ended, with what happened meanwhile', async () => {
    const id = await start(open)
    const first = await follow(`/v1/runs/${id}/events`, 2)
    expect(first.map((line) => line.split(' ')[1])).toEqual(['run.created', 'run.sealed'])
    await ask(open.url, 'POST', `/v1/runs/${id}/pause`)
    const live = follow(`/v1/runs/${id}/events`, 2, { 'last-event-id': first[1]?.split(' ')[0] ?? '' })
    await ask(open.url, 'POST', `/v1/runs/${id}/cancel`)
    expect((await live).map((line) => line.split(' ')[1])).toEqual(['run.paused', 'run.ended'])
  })

  test('cut off again and again while others write, a reader that comes back with the last id has every event once, in order', async () => {
    const id = await start(open)
    const writing = Promise.all([0, 1, 2].map(async () => {
      for (let n = 0; n < 12; n++) await ask(open.url, 'POST', `/v1/runs/${id}/${n % 2 ? 'resume' : 'pause'}`)
    })).then(() => ask(open.url, 'POST', `/v1/runs/${id}/cancel`))
    const seen: string[] = []
    for (let cuts = 1; !seen.at(-1)?.endsWith(' run.ended'); cuts++) {
      // A cut may fall after any event; what came of the next one is thrown away with the connection.
      seen.push(...(await follow(`/v1/runs/${id}/events`, 1 + (cuts % 4), seen.length === 0 ? {} : { 'last-event-id': seen.at(-1)?.split(' ')[0] ?? '' })))
    }
    await writing
    const { body } = await ask(open.url, 'GET', `/v1/runs/${id}/events?limit=1000`, undefined, { accept: 'application/json' })
    expect(seen).toEqual((body['entries'] as { id: number; kind: string }[]).map((event) => `${event.id} ${event.kind}`))
    expect(seen.length).toBeGreaterThan(20)
  }, 60_000)

  test('a list that is gone on with from its last id leaves out none: an earlier one was still on its way when a later one was there', async () => {
    const id = await start(open)
    const list = async (after: number) => (await ask(open.url, 'GET', `/v1/runs/${id}/events?after=${after}`, undefined, { accept: 'application/json' })).body['entries'] as { id: number; kind: string }[]
    const seen: { id: number; kind: string }[] = []
    await withTransaction(open.ledger, { timeoutMs: 10_000 }, async (tx) => {
      await tx.query(`insert into pawl.events (run_id, kind, actor) values ($1, 'early', 'x')`, [id])
      await ask(open.url, 'POST', `/v1/runs/${id}/pause`)
      seen.push(...await list(0))
    })
    await expect.poll(async () => {
      seen.push(...await list(seen.at(-1)?.id ?? 0))
      return seen.map((event) => event.kind)
    }, { timeout: 10_000 }).toEqual(['run.created', 'run.sealed', 'early', 'run.paused'])
  })

  test('a Last-Event-ID that is none is refused', async () => {
    const id = await start(open)
    expect(await ask(open.url, 'GET', `/v1/runs/${id}/events`, undefined, { 'last-event-id': 'x' })).toMatchObject({ status: 400 })
  })
})

describe('operations', () => {
  test('metrics show runs and backlog from the ledger', async () => {
    await start(open)
    const text = String((await ask(open.url, 'GET', '/metrics')).body['text'])
    expect(text).toMatch(/pawl_backlog\{agent="stock",version="1",state="due"\} [1-9]/)
    expect(text).toMatch(/pawl_runs\{agent="stock",status="running"\} [1-9]/)
    expect(text).toMatch(/pawl_http_requests_total\{method="POST",route="\/v1\/runs",status="201"\} [1-9]/)
  })

  test('the backlog is what a scaler divides by the slots of one worker, of all agents or of one', async () => {
    const id = await start(open)
    expect(id).not.toBe('')
    // Counted anew after some seconds at most.
    await expect.poll(async () => (await ask(open.url, 'GET', '/v1/backlog?agent=stock&version=1')).body, { timeout: 15_000, interval: 200 }).toMatchObject({
      due: expect.any(Number) as number, inProgress: 0, agents: [{ agent: 'stock', version: '1' }],
    })
    const { body } = await ask(open.url, 'GET', '/v1/backlog?agent=stock')
    expect(body['work']).toBe(body['due'])
    expect(body['work']).toBeGreaterThan(0)
    expect((await ask(open.url, 'GET', '/v1/backlog?agent=nobody')).body).toEqual({ due: 0, delayed: 0, inProgress: 0, blocked: 0, held: 0, work: 0, oldestDueMs: null, agents: [] })
  })

  test('the page of the description asks nothing of other hosts', async () => {
    const page = await fetch(`${open.url}/docs`)
    const html = await page.text()
    expect(html).not.toMatch(/https?:\/\//)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
    for (const [, asset] of html.matchAll(/(?:src|href)="([^"]+)"/g)) expect((await fetch(open.url + asset)).status, asset).toBe(200)
    expect((await ask(open.url, 'GET', '/docs/package.json')).status).toBe(404)
  })

  test('stopping ends open event streams and answers what is under way', async () => {
    const producer = await openProducer()
    const id = await start(producer)
    const response = await fetch(`${producer.url}/v1/runs/${id}/events`)
    const ended = response.text()
    await producer.close()
    // A stream that was cut off, not ended, rejects.
    await expect(ended).resolves.toBeTypeOf('string')
  })
})

describe('a start that cannot be right', () => {
  const refused = async (env: NodeJS.ProcessEnv): Promise<string> => startProducer({ agents: [mailing], env: { PAWL_PORT: '0', PAWL_LOG_LEVEL: 'silent', ...env } }).then(async (producer) => {
    await producer.close()
    return 'it started'
  }, (error: unknown) => String(error))

  test('names the host of an unreachable database, never the password', async () => {
    const sentence = await refused({ DATABASE_URL: 'postgres://me:s3cret@127.0.0.1:1/pawl' })
    expect(sentence).toContain('127.0.0.1:1')
    expect(sentence).not.toContain('s3cret')
  })

  test('names the host of an unreachable Redis, never the password', async () => {
    const sentence = await refused({ DATABASE_URL: open.databaseUrl, REDIS_URL: 'redis://me:s3cret@127.0.0.1:1' })
    expect(sentence).toContain('127.0.0.1:1')
    expect(sentence).not.toContain('s3cret')
  })

  test('names the command that mends a database without a ledger', async () => {
    const database = await freshDatabase()
    expect(await refused({ DATABASE_URL: database.url })).toContain('pawl migrate')
    await database.drop()
  })

  test('says who else has the port', async () => {
    expect(await refused({ DATABASE_URL: open.databaseUrl, PAWL_QUEUE: 'postgres', PAWL_PORT: new URL(open.url).port })).toContain('PAWL_PORT')
  })
})
