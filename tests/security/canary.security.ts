/**
 * Where a value and where a secret can be found once a run is over. A value (input, payload, argument, result) is in the ledger and on the pages of
 * who may look, and nowhere else: not in the queue, not in a log, not in a metric. A secret (a token, a password, a receiver's credential, a model's
 * key) is nowhere. Real processes, every byte they wrote.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../packages/ledger/src/stage.testsuite.ts'
import { Browser, password } from './ground/browser.ts'
import { runProgram, startService, type Program, type Service } from './ground/processes.ts'
import { producerRoutes } from './ground/routes.ts'
import { ask, openSite, sha256, type Site } from './ground/site.ts'

const value = `canary-value-${randomBytes(6).toString('hex')}`
const secrets = { credential: `canary-credential-${randomBytes(8).toString('hex')}`, modelKey: `canary-model-${randomBytes(8).toString('hex')}`, token: `canary-token-${randomBytes(16).toString('hex')}`, session: `canary-session-${randomBytes(16).toString('hex')}`, password }

let site: Site
let receiver: Server
const authorizations = new Set<string | undefined>()
let programs: { readonly producer: Service; readonly dashboard: Service; readonly worker: Program }
let runId: string

beforeAll(async () => {
  receiver = createServer((request, response) => {
    if (request.url === '/effects') authorizations.add(request.headers.authorization)
    // In no mood: what fails after its effect fails for good.
    response.writeHead(request.url === '/mood' ? 503 : 200, { 'content-type': 'application/json' }).end('{"ok":true}')
  })
  await new Promise<void>((resolve) => { receiver.listen(0, '127.0.0.1', resolve) })
  const at = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  site = await openSite()
  const env = {
    ...site.places, PAWL_LOG_LEVEL: 'debug', PAWL_CONFIG: new URL('ground/agents.ts', import.meta.url).pathname,
    PAWL_SECURITY_OUTSIDE: JSON.stringify({ receiver: at, model: 'http://127.0.0.1:9/v1', credential: secrets.credential, modelKey: secrets.modelKey }),
  }
  const producer = await startService('producer', { ...env, PAWL_TOKENS: `dashboard:read+run+operate+delegate:${sha256(secrets.token)}` })
  const dashboard = await startService('dashboard', { ...site.dashboardEnv, PAWL_LOG_LEVEL: 'debug', PAWL_PRODUCER_URL: producer.url, PAWL_PRODUCER_TOKEN: secrets.token, PAWL_SESSION_SECRET: secrets.session })
  programs = { producer, dashboard, worker: runProgram('apps/worker/src/child.ts', [], env) }
  const started = await fetch(`${producer.url}/v1/runs`, {
    method: 'POST', headers: { authorization: `Bearer ${secrets.token}`, 'content-type': 'application/json', 'idempotency-key': 'canary' },
    body: JSON.stringify({ agent: 'courier', input: { of: value }, policy: { maxFailures: 1 }, items: [{ key: 'good', payload: { value, end: 'done' } }, { key: 'bad', payload: { value, end: 'fail' } }] }),
  })
  runId = ((await started.json()) as { id: string }).id
  await until('the run has ended', async () => /completed|failed/.test((await site.direct.getRun(runId)).status), 90_000)
}, 150_000)
afterAll(async () => {
  await Promise.all([programs?.producer.stop(), programs?.dashboard.stop(), programs?.worker.stop()])
  await new Promise((resolve) => { receiver.close(resolve) })
  await site?.close()
})

const inProducer = () => ({ producer: programs.producer.url })
const secretsIn = (text: string): string[] => Object.entries(secrets).filter(([, secret]) => text.includes(secret)).map(([name]) => name)

/** Every row of every table, as text. */
async function dumpPostgres(): Promise<Map<string, string>> {
  const client = new Client({ connectionString: site.databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ schema: string; name: string }>(`select table_schema as schema, table_name as name from information_schema.tables where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)
  const dump = new Map<string, string>()
  for (const { schema, name } of rows) dump.set(`${schema}.${name}`, JSON.stringify((await client.query(`select t.* from "${schema}"."${name}" t`)).rows))
  await client.end()
  return dump
}

/** Not by DUMP, which packs what it holds: a value in it would not be found. */
async function readKey(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key)
  switch (type) {
    case 'string': return (await redis.get(key)) ?? ''
    case 'hash': return JSON.stringify(await redis.hgetall(key))
    case 'list': return JSON.stringify(await redis.lrange(key, 0, -1))
    case 'set': return JSON.stringify(await redis.smembers(key))
    case 'zset': return JSON.stringify(await redis.zrange(key, 0, "-1"))
    case 'stream': return JSON.stringify(await redis.xrange(key, '-', '+'))
    case 'none': return ''
    default: throw new Error(`${key} is a ${type}, which this test cannot look into`)
  }
}

/** Every key of this ledger's queues with all it holds. */
async function dumpRedis(url: string): Promise<string> {
  const redis = new Redis(url)
  const parts: string[] = []
  for await (const keys of redis.scanStream({ match: `*${site.ledgerId.slice(0, 8)}*`, count: 1_000 })) for (const key of keys as string[]) parts.push(key, await readKey(redis, key))
  redis.disconnect()
  return parts.join('\n')
}

test('the run did what it was to do: the credential reached the receiver, the value is in the ledger, one item failed for it', async () => {
  expect([...authorizations]).toEqual([`Bearer ${secrets.credential}`])
  const { entries } = await site.direct.listItems(runId, {})
  expect(entries.filter(({ kind }) => kind === 'work').map(({ key, status }) => [key, status])).toEqual([['good', 'done'], ['bad', 'failed']])
  expect((await dumpPostgres()).get('pawl.actions')).toContain(value)
})

test('no secret is in the database, wherever in it', async () => {
  const found = [...await dumpPostgres()].flatMap(([table, rows]) => secretsIn(rows).map((name) => `${name} in ${table}`))
  expect(found).toEqual([])
})

test('neither value nor secret is in the queue: jobs carry ids, and say nothing of why one failed', async () => {
  const { redisUrl } = site
  const read = async (): Promise<string> => (redisUrl === null ? [...await dumpPostgres()].filter(([table]) => !table.startsWith('pawl.')).map(([, rows]) => rows).join('\n') : await dumpRedis(redisUrl))
  // What a job's log says of an attempt is there a moment after the ledger has it.
  if (redisUrl !== null) await until('the logs of both jobs are there', async () => { const text = await read(); return text.includes('done: attempt 1') && text.includes('failed: attempt 1') }, 30_000)
  const dump = await read()
  expect(dump).toContain(runId)
  expect([dump.includes(value), secretsIn(dump)]).toEqual([false, []])
})

test('no secret is on any page or in any answer, and no value in a metric', async () => {
  const olga = new Browser(programs.dashboard.url)
  await olga.login('olga')
  const pages = await Promise.all(['/', `/runs/${runId}`, `/runs/${runId}/items/1`, `/runs/${runId}/items/2`, '/inbox', '/fleet', '/tools', '/queues/', '/queues/api/queues', '/session'].map(async (path) => (await olga.get(path)).text))
  const answers = await Promise.all(producerRoutes({ run: runId, seq: '2', action: '1', question: '1' }).filter(({ method, path }) => method === 'GET' && !path.startsWith('/docs')).map(async ({ path }) => (await ask(inProducer(), secrets.token, 'GET', path, undefined, { accept: 'application/json' })).text))
  expect(secretsIn([...pages, ...answers].join('\n'))).toEqual([])
  expect(answers.join('\n')).toContain(value)
  const metrics = await ask(inProducer(), secrets.token, 'GET', '/metrics')
  expect([metrics.status, metrics.text.includes(value), secretsIn(metrics.text)]).toEqual([200, false, []])
})

test('no refusal says a secret, nor anything of how it is made inside', async () => {
  const texts: string[] = []
  for (const token of [undefined, `${secrets.token}x`, secrets.token]) {
    for (const [method, path, body] of [['POST', '/v1/runs', `{"agent":"courier","input":${value}`], ['POST', '/v1/runs', { agent: 'courier', version: '9' }], ['POST', `/v1/runs/${runId}/resume?dryRun=maybe`, {}], ['GET', '/v1/runs?cursor=x', undefined], ['POST', `/v1/runs/${runId}/actions/1/settle`, { answer: 'happened', attempt: 1, evidence: 0 }], ['PUT', '/v1/runs', {}], ['GET', '/%E0%A4%A', undefined]] as const) {
      texts.push((await ask(inProducer(), token, method, path, body)).text)
    }
  }
  const wrong = new Browser(programs.dashboard.url)
  texts.push((await wrong.login('olga', `${password}x`)).text, (await wrong.get('/login?link=x')).text, (await wrong.send('POST', '/login', { body: new URLSearchParams({ name: 'olga', password }) })).text)
  expect(secretsIn(texts.join('\n'))).toEqual([])
  expect(texts.join('\n')).not.toMatch(/node_modules|\.ts:\d+|    at |postgres:\/\/|select .* from/i)
})

test('no log has a secret or a value in it, at the most talkative level', async () => {
  for (const [name, program] of Object.entries(programs)) {
    const lines = program.said().split('\n')
    expect([name, lines.length > 1]).toEqual([name, true])
    expect([name, lines.filter((line) => line.includes(value) || secretsIn(line).length > 0)]).toEqual([name, []])
  }
})
