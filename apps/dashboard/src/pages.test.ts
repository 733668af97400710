/** What the pages are served with: their document and files, who is logged in, and the producer's API in the person's name. Black box, over HTTP. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { askQuestion, blockItem } from '@pawl/ledger'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { claim } from '../../../packages/ledger/src/stage.testsuite.ts'
import type { PawlClient } from '@pawl/client'
import { Browser, evil, json, openGround, seedRun, type Ground, type Scene } from './ground.testsuite.ts'

let ground: Ground
let olga: Browser
let api: PawlClient
beforeAll(async () => {
  ground = await openGround()
  olga = new Browser(ground.dashboard.url)
  await olga.login('olga')
  api = await olga.api()
})
afterAll(() => ground?.close())

describe('the document', () => {
  test('is the same at each address of the pages, and 404 at any other', async () => {
    for (const path of ['/', '/inbox', '/fleet', '/tools', '/runs/x', '/runs/x/items/1', '/?status=running']) {
      const reply = await olga.get(path)
      expect([path, reply.status, reply.headers.get('cache-control')]).toEqual([path, 200, 'no-store'])
      expect(reply.text).toContain('<div id="root">')
    }
    const lost = await olga.get('/nonsense')
    expect([lost.status, lost.text.includes('<div id="root">')]).toEqual([404, true])
    expect((await olga.get('/nonsense', json)).status).toBe(404)
  })

  test('names files that are there, whole or compressed, for ever', async () => {
    const { text } = await olga.get('/runs/x/items/1')
    const files = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(files.length).toBeGreaterThanOrEqual(2)
    for (const path of files) {
      const plain = await olga.get(path, { 'accept-encoding': 'identity' })
      const zipped = await olga.get(path, { 'accept-encoding': 'gzip' })
      expect([path, plain.status, plain.headers.get('cache-control')]).toEqual([path, 200, 'private, max-age=31536000, immutable'])
      expect([zipped.headers.get('content-encoding'), zipped.text]).toEqual(['gzip', plain.text])
    }
    expect((await olga.get('/assets/..%2findex.html')).status).toBe(404)
    expect((await olga.get('/assets/gone.js', json)).status).toBe(404)
  })

  test('holds no inline script and no inline style', async () => {
    const { text } = await olga.get('/')
    expect(text).not.toMatch(/<script(?![^>]*src=)/)
    expect(text).not.toMatch(/<style|\s(?:style|on\w+)=/)
  })
})

test('the session says who it is, and nothing of what it is made of', async () => {
  expect(await olga.session()).toEqual({ user: 'olga', role: 'operate', csrf: expect.stringMatching(/^\S{20,}$/) as string, base: '', version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string })
})

describe('the API', () => {
  let scene: Scene
  beforeEach(async () => { scene = await seedRun(ground.stage) })
  const events = async () => await ground.direct.listEvents(scene.runId, { limit: 1_000 })

  test('says of runs, items, calls and the inbox what the ledger says', async () => {
    expect(await api.getRun(scene.runId)).toEqual(await ground.direct.getRun(scene.runId))
    expect(await api.listItems(scene.runId)).toEqual(await ground.direct.listItems(scene.runId))
    expect(await api.listActions(scene.runId, { itemSeq: 1 })).toEqual(await ground.direct.listActions(scene.runId, { itemSeq: 1 }))
    expect(await api.inbox({ runId: scene.runId })).toEqual(await ground.direct.inbox({ runId: scene.runId }))
    expect((await api.listRuns({ labels: { campaign: 'spring' }, agent: 'mailing' })).entries.map(({ id }) => id)).toContain(scene.runId)
  })

  test('acts in the name of who is logged in', async () => {
    await api.pause(scene.runId)
    await api.resume(scene.runId)
    await api.cancel(scene.runId, { reason: 'wrong list' })
    const acted = (await events()).filter(({ kind }) => ['run.paused', 'run.resumed', 'run.ended'].includes(kind))
    expect(acted.map(({ kind, actor }) => [kind, actor])).toEqual([['run.paused', 'olga'], ['run.resumed', 'olga'], ['run.ended', 'olga']])
    expect(JSON.stringify(acted.at(-1)?.data)).toContain('wrong list')
  })

  test('a look at what a verb would do changes nothing', async () => {
    const preview = await api.compensate(scene.runId, { dryRun: true })
    expect(preview).toEqual(await ground.direct.compensate(scene.runId, { dryRun: true }))
    expect((await ground.direct.getRun(scene.runId)).status).toBe('running')
  })

  test('a person’s answers are recorded with what was said and who said it; a late one is told who was first', async () => {
    const answer = { answer: 'happened', result: { messageId: 'm-4' }, attempt: 1, evidence: 0, note: 'seen in the log' } as const
    expect(await api.settle(scene.runId, scene.doubtful.actionId, answer)).toMatchObject({ status: 'committed', result: { messageId: 'm-4' }, settledBy: 'person:olga' })
    await expect(api.settle(scene.runId, scene.doubtful.actionId, { ...answer, answer: 'did_not' })).rejects.toMatchObject({ name: 'PawlError' })
    expect((await events()).find(({ kind }) => kind === 'action.answered')).toMatchObject({ actor: 'olga', data: { note: 'seen in the log' } })
  })

  test('an answer to what changed meanwhile is refused with its code', async () => {
    await ground.stage.rows(`select pawl.add_evidence($1, 'key-4', '{"late":"the receiver lists it"}', null, null)`, [scene.runId])
    await expect(api.settle(scene.runId, scene.doubtful.actionId, { answer: 'did_not', attempt: 1, evidence: 0 })).rejects.toMatchObject({ code: 'DOUBT_CHANGED' })
    expect(await api.settle(scene.runId, scene.doubtful.actionId, { answer: 'did_not', attempt: 1, evidence: 1 })).toMatchObject({ status: 'failed' })
  })

  test('a question takes what fits its schema, once', async () => {
    const by = await claim(ground.stage, scene.runId, 7)
    const { question } = await askQuestion(ground.stage.ledger, by, { key: '1', text: `Pay ${evil}?`, answerSchema: '{"type":"object","properties":{"cents":{"type":"integer"}},"required":["cents"]}' })
    await blockItem(ground.stage.ledger, by, 'question', { question: question?.id })
    const id = question?.id ?? -1
    await expect(api.answer(scene.runId, id, { cents: 'many' })).rejects.toMatchObject({ code: 'BAD_ANSWER', message: expect.stringContaining('cents') as string })
    expect(await api.answer(scene.runId, id, { cents: 10 }, { note: 'asked Bob' })).toMatchObject({ status: 'answered', answeredBy: 'olga' })
    await expect(api.answer(scene.runId, id, { cents: 11 })).rejects.toMatchObject({ code: 'QUESTION_ANSWERED', message: expect.stringContaining('olga') as string })
  })

  test('a blocked item is ended once, and a second answer is refused with its state', async () => {
    expect(await api.releaseItem(scene.runId, 5, 'fail', { note: 'poison' })).toMatchObject({ status: 'failed' })
    await expect(api.releaseItem(scene.runId, 5, 'resume')).rejects.toMatchObject({ message: expect.stringContaining('failed') as string })
  })

  test('refuses as the producer does: what is unknown, misspelt or too big, each as a problem document', async () => {
    await expect(api.getRun('0190a000-0000-7000-8000-000000000000')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(api.listRuns({ cursor: 'nonsense' })).rejects.toMatchObject({ name: 'PawlError' })
    const { csrf } = await olga.session()
    const headers = { ...json, 'content-type': 'application/json', 'x-pawl-csrf': csrf }
    for (const [method, path, body, status] of [
      ['GET', '/api/v1/nowhere', undefined, 404], ['GET', '/api/v1/runs?status=nonsense', undefined, 400], ['DELETE', `/api/v1/runs/${scene.runId}`, undefined, 405], ['GET', '/api/metrics', undefined, 404], ['GET', '/api/v1/../metrics', undefined, 404],
      ['POST', `/api/v1/runs/${scene.runId}/pause`, `{"reason":"${'x'.repeat(2_100_000)}"}`, 413],
    ] as const) {
      const reply = await olga.send(method, path, body, headers)
      expect([path, reply.status, JSON.parse(reply.text)]).toEqual([path, status, expect.objectContaining({ code: expect.stringMatching(/^[A-Z_]+$/) as string, detail: expect.stringMatching(/\S/) as string })])
      expect(reply.headers.get('content-type')).toContain('application/problem+json')
    }
    expect((await ground.direct.getRun(scene.runId)).paused).toBe(false)
  })

  test('streams events as they happen, and goes on where the last stream ended', async () => {
    const read = async (after: string | undefined, isEnough: (text: string) => boolean): Promise<string> => {
      const gone = new AbortController()
      const response = await fetch(`${ground.dashboard.url}/api/v1/runs/${scene.runId}/events`, { headers: { ...olga.cookieHeader(), accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) }, signal: gone.signal })
      expect(response.headers.get('content-type')).toContain('text/event-stream')
      let text = ''
      for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (isEnough(text)) break
      }
      gone.abort()
      return text
    }
    const first = await read(undefined, (text) => text.includes('event: run.created'))
    const last = [...first.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? ''
    const next = read(last, (text) => text.includes('event: run.paused'))
    await api.pause(scene.runId)
    expect(await next).not.toContain('run.created')
  })
})

test('nothing of a browser’s request reaches the producer but what the API is made of', async () => {
  const seen: IncomingHttpHeaders[] = []
  const producer = createServer((request, response) => {
    seen.push(request.headers)
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'theirs=1', 'x-secret-header': 'theirs', 'access-control-allow-origin': '*' }).end('{}')
  })
  producer.listen(0, '127.0.0.1')
  await once(producer, 'listening')
  try {
    const dashboard = await ground.start({ PAWL_PRODUCER_URL: `http://127.0.0.1:${(producer.address() as AddressInfo).port}`, PAWL_PRODUCER_TOKEN: 'the-dashboards-own' })
    const browser = new Browser(dashboard.url)
    await browser.login('olga')
    const { csrf } = await browser.session()
    const sneaked = { authorization: 'Bearer theirs', 'pawl-actor': 'somebody-else', 'x-forwarded-for': '10.0.0.1', 'idempotency-key': 'k-1' }
    const read = await browser.get('/api/v1/runs', { ...json, ...sneaked })
    await browser.send('POST', '/api/v1/runs/x/pause', '{}', { ...json, ...sneaked, 'content-type': 'application/json', 'x-pawl-csrf': csrf })
    expect(seen.map(({ authorization, cookie, origin, 'pawl-actor': actor, 'x-pawl-csrf': token, 'x-forwarded-for': via, 'idempotency-key': key }) => ({ authorization, cookie, origin, actor, token, via, key }))).toEqual([
      { authorization: 'Bearer the-dashboards-own', cookie: undefined, origin: undefined, actor: undefined, token: undefined, via: undefined, key: 'k-1' },
      { authorization: 'Bearer the-dashboards-own', cookie: undefined, origin: undefined, actor: 'olga', token: undefined, via: undefined, key: 'k-1' },
    ])
    for (const name of ['set-cookie', 'x-secret-header', 'access-control-allow-origin']) expect(read.headers.get(name)).toBeNull()
  } finally {
    producer.close()
  }
})

test('no answer shows the producer’s token, the database’s password or the session secret', async () => {
  const scene = await seedRun(ground.stage)
  const secrets = [ground.env['PAWL_PRODUCER_TOKEN'], ground.env['PAWL_SESSION_SECRET'], new URL(ground.env['DATABASE_URL'] ?? '').password].filter((each) => each !== undefined && each !== '')
  expect(secrets.length).toBeGreaterThanOrEqual(2)
  for (const path of ['/', '/session', '/api/v1/runs', `/api/v1/runs/${scene.runId}`, '/api/v1/nowhere', '/queues/', '/queues/api/queues', '/queues/api/redis/stats', '/nowhere']) {
    const { text } = await olga.get(path)
    for (const secret of secrets) expect(text.includes(secret ?? '')).toBe(false)
  }
})

test('without a producer the pages are there and the API says so, and how the token is wrong where it is', async () => {
  const away = await ground.start({ PAWL_PRODUCER_URL: 'http://127.0.0.1:9' })
  const browser = new Browser(away.url)
  await browser.login('olga')
  await expect((await browser.api()).listRuns()).rejects.toMatchObject({ code: 'PRODUCER_UNREACHABLE', next: 'retry', message: expect.stringContaining('127.0.0.1:9 did not answer') as string })
  expect((await browser.get('/')).status).toBe(200)
  expect((await browser.get('/queues/')).status).toBe(200)

  const wrong = await ground.start({ PAWL_PRODUCER_TOKEN: 'not-a-token' })
  const other = new Browser(wrong.url)
  await other.login('olga')
  // Not 401: that would lead the person to a login that cannot help.
  const refused = await other.get('/api/v1/runs', json)
  expect([refused.status, JSON.parse(refused.text)]).toEqual([502, expect.objectContaining({ detail: expect.stringContaining('PAWL_PRODUCER_TOKEN') as string })])
})

test('a dashboard that stops ends its event streams at once', async () => {
  const { runId } = await seedRun(ground.stage)
  const dashboard = await ground.start({})
  const browser = new Browser(dashboard.url)
  await browser.login('olga')
  const response = await fetch(`${dashboard.url}/api/v1/runs/${runId}/events`, { headers: { ...browser.cookieHeader(), accept: 'text/event-stream' } })
  const reader = (response.body ?? new ReadableStream()).getReader()
  expect((await reader.read()).done).toBe(false)
  await dashboard.close()
  const isOver = async (): Promise<boolean> => {
    for (;;) if ((await reader.read()).done) return true
  }
  expect(await isOver()).toBe(true)
})
