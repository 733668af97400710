/** What a page elsewhere can make a logged-in person's browser do: nothing. Every write of the dashboard, as the app and Bull Board list them. */
import { randomUUID } from 'node:crypto'
import { connectQueue, type Queue } from '@pawl/queue'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/ledger/src/stage.testsuite.ts'
import { Browser, type Sent } from './ground/browser.ts'
import { dashboardRoutes } from './ground/routes.ts'
import { ask, openSite, type Site } from './ground/site.ts'

let site: Site
let runId: string
let queue: Queue
let queueName: string
beforeAll(async () => {
  site = await openSite()
  const { id } = await site.direct.startRun('plain', null, { items: [{ key: 'one', payload: null }, { key: 'two', payload: null }] })
  runId = id
  queue = connectQueue({ ...(site.redisUrl === null ? { backend: 'postgres', url: site.databaseUrl } : { backend: 'redis', url: site.redisUrl }), ledgerId: site.ledgerId, onError: () => undefined })
  await queue.ready()
  await queue.ring([1, 2].map((seq) => ({ ledgerId: site.ledgerId, runId, seq, generation: 1, channel: { kind: 'agent', agent: 'plain', version: '1' }, first: false, title: `item ${seq}` })))
  queueName = (await queue.names()).find(({ channel }) => channel?.kind === 'agent')?.name ?? ''
  const olga = await site.login('olga')
  await until('the board shows the queue', async () => (await olga.get('/queues/api/queues', { accept: 'application/json' })).text.includes(queueName), 30_000)
})
afterAll(async () => {
  await queue?.close()
  await site?.close()
})

const writes = () => dashboardRoutes({ run: runId, seq: '1', action: '1', question: '1', verb: 'pause', id: randomUUID(), queueName: encodeURIComponent(queueName), jobId: `${runId}-1-1`, queue: encodeURIComponent(queueName), job: `${runId}-1-1`, state: 'failed' })
  .filter(({ method, pattern }) => method !== 'GET' && pattern !== '/login')

/** Everything a write could have changed. */
const world = async () => ({
  run: await site.direct.getRun(runId), events: await site.direct.listEvents(runId, { limit: 1_000 }),
  jobs: await queue.boardQueue(queueName).getJobCounts(), isPaused: await queue.boardQueue(queueName).isPaused(), runs: (await site.direct.listRuns({})).entries.length,
})

/** Each must be refused on every write, and change nothing. */
async function refusedEverywhere(send: (csrf: string) => Sent): Promise<void> {
  const olga = await site.login('olga')
  const csrf = await olga.csrf()
  const before = await world()
  const wrong: string[] = []
  for (const { method, path } of writes()) {
    const reply = await olga.send(method, path, send(csrf))
    if (reply.status !== 403) wrong.push(`${method} ${path}: ${reply.status}`)
  }
  expect(wrong).toEqual([])
  expect(await world()).toEqual(before)
}

describe('a write with a person’s cookies', () => {
  test('there are all of them: the pages’ own, and whatever this version of the board has', () => {
    const patterns = writes().map(({ method, pattern }) => `${method} ${pattern}`)
    expect(patterns.filter((pattern) => pattern.includes(' /queues/')).length).toBeGreaterThan(15)
    expect(patterns).toEqual(expect.arrayContaining(['PUT /queues/api/queues/:queueName/:jobId/clean', 'PUT /queues/api/queues/:queueName/obliterate', 'POST /queues/api/queues/:queueName/add']))
  })

  test.for([
    ['another site', 'https://evil.example'], ['a page without an origin, as in a sandboxed frame', 'null'], ['another port of this machine', 'http://127.0.0.1:1'], ['a name that begins like ours', 'http://127.0.0.1.evil.example'], ['a program that names no origin', ''],
  ] as const)('from %s is refused everywhere, whatever its token', async ([, origin]) => {
    await refusedEverywhere((csrf) => ({ headers: { origin, 'x-pawl-csrf': csrf, accept: 'application/json' } }))
  })

  test.for(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])('that another site’s form can send (%s) is refused everywhere', async (type) => {
    await refusedEverywhere((csrf) => ({ headers: { origin: 'https://evil.example', 'content-type': type }, body: type.startsWith('multipart') ? `--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n${csrf}\r\n--x--\r\n` : `csrf=${csrf}&seen=running&reason=x` }))
  })

  test('from our own page without the session’s token is refused everywhere', async () => {
    await refusedEverywhere(() => ({ headers: { accept: 'application/json' } }))
  })

  test('with the token of another session of the same person, a cut one or an empty one is refused everywhere', async () => {
    const other = await (await site.login('olga')).csrf()
    await refusedEverywhere(() => ({ headers: { 'x-pawl-csrf': other } }))
    await refusedEverywhere((csrf) => ({ headers: { 'x-pawl-csrf': csrf.slice(0, -1) } }))
    await refusedEverywhere(() => ({ headers: { 'x-pawl-csrf': ' ', 'content-type': 'application/x-www-form-urlencoded' }, body: 'csrf=' }))
  })

  test('does not pass by calling itself a read', async () => {
    const olga = await site.login('olga')
    const csrf = await olga.csrf()
    const before = await world()
    for (const path of [`/runs/${runId}/pause?csrf=${csrf}`, `/queues/api/queues/${encodeURIComponent(queueName)}/obliterate?csrf=${csrf}`, `/api/v1/runs/${runId}/pause?csrf=${csrf}`]) {
      for (const override of [{ 'x-http-method-override': 'PUT' }, { 'x-http-method-override': 'POST' }, { 'x-method-override': 'PUT' }]) {
        await olga.get(path, { ...override, origin: 'https://evil.example' })
        await olga.send('HEAD', path, { headers: { ...override, origin: 'https://evil.example' } })
      }
    }
    expect(await world()).toEqual(before)
  })
})

describe('the board', () => {
  test('lets even who may operate change no queue: add, edit, clean, promote, pause, empty and obliterate are off', async () => {
    const olga = await site.login('olga')
    const csrf = await olga.csrf()
    const before = await world()
    const wrong: string[] = []
    for (const { method, path, pattern } of writes()) {
      if (!pattern.startsWith('/queues/') || pattern.includes('retry')) continue
      const reply = await olga.send(method, path, { headers: { 'x-pawl-csrf': csrf, 'content-type': 'application/json' }, body: JSON.stringify({ jobName: 'x', jobData: {}, jobOptions: {} }) })
      if (reply.status !== 403) wrong.push(`${method} ${path}: ${reply.status}`)
    }
    expect(wrong).toEqual([])
    expect(await world()).toEqual(before)
  })
})

describe('the producer without tokens, on this machine only', () => {
  test('takes nothing from a page elsewhere, by whatever name it asks and whatever its form can send', async () => {
    const open = await import('../../apps/producer/src/index.ts')
    const { agents } = await import('./ground/agents.ts')
    const producer = await open.startProducer({ agents, env: site.places })
    try {
      const start = JSON.stringify({ agent: 'plain', items: [{ key: 'x' }] })
      const before = await world()
      for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { origin: 'http://127.0.0.1:1' }, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }]) {
        for (const type of ['application/json', 'text/plain', 'application/x-ndjson', 'application/x-www-form-urlencoded']) {
          expect((await ask({ producer: producer.url }, undefined, 'POST', '/v1/runs', start, { ...headers, 'content-type': type })).status).toBe(403)
        }
        expect((await ask({ producer: producer.url }, undefined, 'POST', `/v1/runs/${runId}/pause`, undefined, headers)).status).toBe(403)
        expect((await ask({ producer: producer.url }, undefined, 'GET', '/v1/runs', undefined, headers)).status).toBe(403)
      }
      expect(await world()).toEqual(before)
      expect((await ask({ producer: producer.url }, undefined, 'POST', '/v1/runs', start)).status).toBe(201)
    } finally {
      await producer.close()
    }
  })

  test('and lets no page elsewhere read its answers, with tokens or without', async () => {
    for (const path of ['/v1/runs', '/health', '/openapi.json']) {
      const { headers } = await ask(site, site.tokens.all, 'GET', path, undefined, { origin: 'https://evil.example' })
      expect(headers.get('access-control-allow-origin')).toBe(null)
    }
    const preflight = await ask(site, undefined, 'OPTIONS', '/v1/runs', undefined, { origin: 'https://evil.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' })
    expect(preflight.headers.get('access-control-allow-origin')).toBe(null)
  })
})

test('a browser that was never here cannot be logged in as somebody else by another site’s form', async () => {
  const mallory = new Browser(site.dashboard.url)
  const { text } = await mallory.get('/login')
  const token = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const victim = new Browser(site.dashboard.url)
  for (const origin of ['https://evil.example', site.dashboard.url]) {
    const reply = await victim.send('POST', '/login', { headers: { origin }, body: new URLSearchParams({ csrf: token, name: 'olga', password: 'correct horse battery' }) })
    expect(reply.status).toBe(403)
    expect([...victim.cookies.keys()].filter((name) => /^pawl_\d+$/.test(name))).toEqual([])
  }
})
