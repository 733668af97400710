import { createClient } from '@pawl/client'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { startProducerProcess, type Child } from './producer-child.testsuite.ts'
import { ask, openProducer, type TestProducer } from './producer.testsuite.ts'

const ndjson = { 'content-type': 'application/x-ndjson' }
const header = '{"agent":"stock","input":{"n":1},"labels":{"a":"b"}}'
const line = (i: number): string => `{"key":"item-${i}","payload":{"n":${i},"text":"${'x'.repeat(500)}"}}`
const lines = (n: number): string[] => [header, ...Array.from({ length: n }, (_, i) => line(i))]

let database: FreshDatabase
let ledger: Ledger
const children: Child[] = []

async function startChild(): Promise<Child> {
  const child = await startProducerProcess(database.url)
  children.push(child)
  return child
}

beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url, connections: 1 })
  await migrateLedger(ledger)
})
afterAll(async () => {
  for (const child of children) await child.kill()
  await ledger.close()
  await database.drop()
})

const items = async (): Promise<number> => (await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.items'))[0]?.n ?? -1

describe('a producer process', () => {
  let child: Child
  beforeAll(async () => { child = await startChild() })

  test('takes 20,000 items whole, in flat memory, with at most a window of jobs rung for', async () => {
    const client = createClient({ url: child.url })
    async function* source() {
      for (let i = 0; i < 20_000; i++) yield { key: `item-${i}`, payload: { n: i, text: `${i} `.padEnd(6_000, 'x') } }
    }
    const { id, isNew } = await client.startRunFromStream({ agent: 'stock' }, source(), { idempotencyKey: 'big' })
    expect(isNew).toBe(true)
    expect((await client.getRun(id)).tally.total).toBe(20_000)
    expect(await client.startRunFromStream({ agent: 'stock' }, source(), { idempotencyKey: 'big' })).toEqual({ id, isNew: false })
    expect(await child.maxRssMb()).toBeLessThan(250)
    const out = async () => (await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.items where run_id = $1 and dispatched_at is not null', [id]))[0]?.n
    await expect.poll(out, { timeout: 10_000 }).toBe(1_000)
  }, 120_000)

  test('killed half-way through a stream leaves a run that the same request completes, each item once', async () => {
    const before = await items()
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => { letGo = resolve })
    async function* half() {
      const encoder = new TextEncoder()
      yield encoder.encode(`${lines(3_000).join('\n')}\n`)
      await held
    }
    const broken = fetch(`${child.url}/v1/runs`, { method: 'POST', headers: { ...ndjson, 'idempotency-key': 'killed' }, body: ReadableStream.from(half()), duplex: 'half' } as RequestInit).then(() => 'answered', () => 'broken')
    await expect.poll(async () => (await items()) - before, { timeout: 20_000 }).toBeGreaterThanOrEqual(2_000)
    await child.kill()
    letGo()
    expect(await broken).toBe('broken')
    const [left] = await ledger.query<{ run_id: string; status: string }>(`select k.run_id, r.status from pawl.run_keys k join pawl.runs r on r.id = k.run_id where k.key = 'killed'`)
    expect(left?.status).toBe('splitting')
    const second = await startChild()
    const again = () => ask(second.url, 'POST', '/v1/runs', `${lines(5_000).join('\n')}\n`, { ...ndjson, 'idempotency-key': 'killed' })
    await expect.poll(async () => (await again()).status, { timeout: 20_000, interval: 100 }).toBe(200)
    const rows = await ledger.query<{ key: string }>(`select key from pawl.items where run_id = $1 and kind = 'work'`, [left?.run_id ?? ''])
    expect(rows.length).toBe(5_000)
    expect(new Set(rows.map((row) => row.key)).size).toBe(5_000)
    expect((await ask(second.url, 'GET', `/v1/runs/${left?.run_id ?? ''}`)).body).toMatchObject({ status: 'running', tally: { total: 5_000 } })
  }, 120_000)
})

describe('NDJSON', () => {
  let producer: TestProducer
  beforeAll(async () => { producer = await openProducer({}, { streamAliveMs: 1_000 }) })
  afterAll(async () => producer.close())

  const post = (body: string, headers: Record<string, string> = {}) => ask(producer.url, 'POST', '/v1/runs', body, { ...ndjson, ...headers })

  test('blank lines and a missing last newline are fine', async () => {
    const { status, body } = await post(`${header}\n\n${line(1)}\r\n\n${line(2)}`)
    expect(status).toBe(201)
    expect((await ask(producer.url, 'GET', `/v1/runs/${String(body['id'])}`)).body).toMatchObject({ tally: { total: 2 }, input: { n: 1 }, labels: { a: 'b' } })
  })

  const with1234 = (bad: string): string => {
    const all = lines(2_000)
    all[1_233] = bad
    return all.join('\n')
  }

  test.each<[string, number, string, RegExp, string]>([
    ['no line', 400, 'BAD_HEADER', /first line is the header/, ''],
    ['a header without agent', 400, 'BAD_HEADER', /Line 1.*agent/, '{"input":1}\n'],
    ['an item in place of the header', 400, 'BAD_HEADER', /Line 1/, `${line(1)}\n`],
    ['a header of an unknown agent', 422, 'UNKNOWN_AGENT', /"nobody"/, '{"agent":"nobody"}\n'],
    ['a line 1234 that is no JSON', 400, 'MALFORMED_JSON', /Line 1234/, with1234('{"key": oops')],
    ['a line 1234 without key', 400, 'BAD_LINE', /Line 1234.*key/, with1234('{"payload":1}')],
    ['a line 1234 with a misspelt member', 400, 'BAD_LINE', /Line 1234.*paylod/, with1234('{"key":"x","paylod":1}')],
    ['a line 1234 with a number a double would change', 400, 'BAD_NUMBER', /Line 1234.*9007199254740993/, with1234('{"key":"x","payload":9007199254740993}')],
    ['a line 1234 with a key of an earlier line', 422, 'DUPLICATE_KEYS', /Line 1234: .*"item-5"/, with1234(line(5))],
    ['a line 1234 with an empty key', 422, 'BAD_ITEM_KEY', /Line 1234/, with1234('{"key":"","payload":1}')],
    ['a line 1234 over its limit', 413, 'TOO_LARGE', /Line 1234/, with1234(`{"key":"x","payload":"${'y'.repeat(1_000_100)}"}`)],
    ['a line 1234 without end', 413, 'TOO_LARGE', /Line 1234/, with1234(`{"key":"x","payload":"${'y'.repeat(3_000_000)}`)],
  ])('%s is refused, named, and leaves nothing behind', async (_, status, code, sentence, body) => {
    const before = await producer.countRuns()
    const answer = await post(body, { 'idempotency-key': 'refused' })
    expect(answer).toMatchObject({ status, body: { code } })
    expect(String(answer.body['detail'])).toMatch(sentence)
    expect(await producer.countRuns()).toBe(before)
    expect(await producer.ledger.query(`select 1 from pawl.run_keys where key = 'refused'`)).toEqual([])
  })

  test('a line of another agent’s payload is judged by that agent’s schema, by its line', async () => {
    const answer = await post('{"agent":"mailing","input":{"recipients":[]}}\n{"key":"a","payload":{"to":"a"}}\n{"key":"b","payload":{"to":7}}\n')
    expect(answer).toMatchObject({ status: 422, body: { code: 'BAD_PAYLOAD', detail: expect.stringMatching(/Line 3 \("b"\): payload\.to.*string/) as string } })
  })

  test('a client that goes away half-way leaves nothing behind', async () => {
    const before = await producer.countRuns()
    const gone = new AbortController()
    async function* half() {
      yield new TextEncoder().encode(`${lines(2_500).join('\n')}\n`)
      await new Promise(() => undefined)
    }
    const request = fetch(`${producer.url}/v1/runs`, { method: 'POST', headers: ndjson, body: ReadableStream.from(half()), duplex: 'half', signal: gone.signal } as RequestInit).catch(() => 'gone')
    await expect.poll(() => producer.countRuns(), { timeout: 10_000 }).toBe(before + 1)
    gone.abort()
    expect(await request).toBe('gone')
    await expect.poll(() => producer.countRuns(), { timeout: 10_000 }).toBe(before)
  })

  test('a second stream under the key of one that is alive gets 409 STREAM_IN_PROGRESS and a time to come back', async () => {
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => { letGo = resolve })
    async function* slow() {
      yield new TextEncoder().encode(`${lines(1_500).join('\n')}\n`)
      await held
    }
    const before = await producer.countRuns()
    const first = fetch(`${producer.url}/v1/runs`, { method: 'POST', headers: { ...ndjson, 'idempotency-key': 'two' }, body: ReadableStream.from(slow()), duplex: 'half' } as RequestInit)
    await expect.poll(() => producer.countRuns(), { timeout: 10_000 }).toBe(before + 1)
    const second = await post(lines(1_500).join('\n'), { 'idempotency-key': 'two' })
    expect(second).toMatchObject({ status: 409, body: { code: 'STREAM_IN_PROGRESS' } })
    expect(second.headers.get('retry-after')).toBe('5')
    letGo()
    expect((await first).status).toBe(201)
    expect((await post(lines(1_500).join('\n'), { 'idempotency-key': 'two' })).status).toBe(200)
    expect(await post(lines(1_501).join('\n'), { 'idempotency-key': 'two' })).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_CONFLICT' } })
  })
})
