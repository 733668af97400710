import { newId } from '@pawl/core'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { Client } from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { describeClient } from './client.testsuite.ts'
import { createClient } from './create-client.ts'
import { mailing, stock } from './suite/ground.testsuite.ts'

let database: FreshDatabase
let ledger: Ledger

beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url })
  await migrateLedger(ledger)
})

afterAll(async () => {
  await ledger.close()
  await database.drop()
})

const agents = [mailing, stock]

describeClient('the direct client', async () => ({ client: createClient({ ledger, agents, actor: 'ann' }), ledger, actor: 'ann' }))

test('a run is promised only once the ledger has it', async () => {
  const held = new Client({ connectionString: database.url })
  await held.connect()
  try {
    await held.query('begin')
    await held.query('lock table pawl.runs in share mode')
    let isPromised = false
    const started = createClient({ ledger, agents }).startRun('stock', null, { items: [] }).finally(() => { isPromised = true })
    await expect.poll(async () => (await held.query(`select 1 from pg_locks where relation = 'pawl.runs'::regclass and not granted`)).rowCount, { timeout: 10_000 }).toBe(1)
    expect(isPromised).toBe(false)
    await held.query('rollback')
    expect(await createClient({ ledger, agents }).getRun((await started).id)).toMatchObject({ status: 'running' })
  } finally {
    await held.end()
  }
})

describe('a start inside the caller’s own transaction', () => {
  test('is there when the caller commits, and never was when it rolls back', async () => {
    const client = createClient({ ledger, agents })
    const own = new Client({ connectionString: database.url })
    await own.connect()
    try {
      const items = [{ key: 'a "quoted" \\ key', payload: { to: 'x' } }]
      await own.query('begin')
      const gone = await client.startRun(mailing, { recipients: [] }, { items, tx: own, idempotencyKey: 'tx' })
      await own.query('rollback')
      await expect(client.getRun(gone.id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await own.query('begin')
      const kept = await client.startRun(mailing, { recipients: [] }, { items, tx: own, idempotencyKey: 'tx', labels: { a: 'b' } })
      await expect(client.getRun(kept.id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await own.query('commit')
      expect(await client.getRun(kept.id)).toMatchObject({ status: 'running', labels: { a: 'b' }, tally: { total: 1 } })
      expect((await client.listItems(kept.id)).entries[0]).toMatchObject({ key: 'a "quoted" \\ key', payload: { to: 'x' } })
    } finally {
      await own.end()
    }
  })

  test('works through postgres.js, which encodes JSON and arrays its own way', async () => {
    const client = createClient({ ledger, agents })
    const sql = postgres(database.url, { max: 1 })
    try {
      const started = await sql.begin(async (own) => client.startRun(mailing, { recipients: ['a'] }, {
        items: [{ key: 'a', payload: { to: 'a' } }], labels: { a: 'b' }, tx: { query: async (text, values) => ({ rows: await own.unsafe(text, values) }) },
      }))
      expect(await client.getRun(started.id)).toMatchObject({ status: 'running', labels: { a: 'b' }, policy: { onFailure: 'hold' } })
    } finally {
      await sql.end()
    }
  })
})

describe('namespaces', () => {
  test('keys, runs and answers of one are unknown in the other', async () => {
    const [red, blue] = ['red', 'blue'].map((namespace) => createClient({ ledger, agents, namespace })) as [ReturnType<typeof createClient>, ReturnType<typeof createClient>]
    const ofRed = await red.startRun('stock', 'red secret', { items: [], idempotencyKey: '1' })
    const ofBlue = await blue.startRun('stock', 'blue', { items: [], idempotencyKey: '1' })
    expect(ofBlue.isNew).toBe(true)
    const [foreign, unknown] = await Promise.all([ofRed.id, newId()].map((id) => blue.getRun(id).then(() => '', (error: unknown) => String(error).replace(id, 'ID'))))
    expect(foreign).toBe(unknown)
    const answers = await Promise.allSettled([blue.cancel(ofRed.id), blue.pause(ofRed.id), blue.listEvents(ofRed.id), blue.answer(ofRed.id, 1, true), blue.settle(ofRed.id, 1, { answer: 'abandon', attempt: 1, evidence: 0 })])
    for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } })
    expect((await blue.listRuns()).entries.map((run) => run.id)).toEqual([ofBlue.id])
  })

  test('a name that is none is refused', () => {
    expect(() => createClient({ ledger, namespace: 'A b' })).toThrow(/namespace/)
  })
})

describe('a broken stream', () => {
  const seeds = (n: number) => Array.from({ length: n }, (_, i) => ({ key: `k${i}`, payload: i }))

  test('that failed on the caller’s side leaves nothing and its key is free', async () => {
    const client = createClient({ ledger, agents })
    async function* broken() {
      yield* seeds(1_500)
      throw new Error('the source broke')
    }
    await expect(client.startRunFromStream({ agent: 'stock' }, broken(), { idempotencyKey: 'breaks' })).rejects.toThrow('the source broke')
    expect(await ledger.query(`select 1 from pawl.run_keys where key = 'breaks'`)).toEqual([])
    expect((await client.startRunFromStream({ agent: 'stock' }, seeds(10), { idempotencyKey: 'breaks' })).isNew).toBe(true)
  })

  test('refuses a second one under its key while it lives, a beat of its own included', async () => {
    const client = createClient({ ledger, agents, streamAliveMs: 400 })
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => { letGo = resolve })
    let isOpen: () => void = () => undefined
    const opened = new Promise<void>((resolve) => { isOpen = resolve })
    async function* slow() {
      yield* seeds(1_200)
      isOpen()
      await held
      yield { key: 'last', payload: 0 }
    }
    const first = client.startRunFromStream({ agent: 'stock' }, slow(), { idempotencyKey: 'alive' })
    await opened
    const until = Date.now() + 1_000
    while (Date.now() < until) await expect(client.startRunFromStream({ agent: 'stock' }, seeds(2), { idempotencyKey: 'alive' })).rejects.toMatchObject({ code: 'STREAM_IN_PROGRESS' })
    letGo()
    expect((await client.getRun((await first).id)).tally.total).toBe(1_201)
  })

  test('whose sender died is taken over by the same request, whole and once; the late sender is refused', async () => {
    const client = createClient({ ledger, agents, streamAliveMs: 300 })
    const [row] = await ledger.query<{ outcome: string; run_id: string }>(`select * from pawl.start_run($1, 'default', 'died', null, 'stock', '1', null, null, 1, null, 'null', '{}', '{"onFailure":"hold"}', 'x', false)`, [newId()])
    const runId = row?.run_id ?? ''
    await ledger.query('select pawl.open_stream($1, 0)', [runId])
    await ledger.query(`select * from pawl.append_items($1, 1, '{k0,k1,left-over}', '{0,9,9}')`, [runId])
    await expect(client.startRunFromStream({ agent: 'stock', input: null }, seeds(3), { idempotencyKey: 'died' })).rejects.toMatchObject({ code: 'STREAM_IN_PROGRESS' })
    await expect.poll(async () => client.startRunFromStream({ agent: 'stock', input: null }, seeds(3), { idempotencyKey: 'died' }).then((run) => run.id, () => ''), { timeout: 5_000, interval: 50 }).toBe(runId)
    expect((await client.listItems(runId)).entries.map((item) => [item.key, item.payload])).toEqual([['k0', 0], ['k1', 1], ['k2', 2]])
    const [late] = await ledger.query(`select outcome from pawl.append_items($1, 1, '{late}', '{0}')`, [runId])
    expect(late).toEqual({ outcome: 'closed' })
  })
})

describe('dispatch', () => {
  test('that hangs does not hold up the start', async () => {
    const client = createClient({ ledger, agents, dispatch: () => new Promise(() => undefined) })
    expect((await client.startRun('stock', null, { items: [] })).isNew).toBe(true)
  })

  test('that fails does not fail the start; it is only reported', async () => {
    const reported: string[] = []
    const client = createClient({ ledger, agents, dispatch: async () => { throw new Error('queue down') }, onDispatchError: (error, runId) => reported.push(`${runId} ${String(error)}`) })
    const { id } = await client.startRun('stock', null, { items: [] })
    expect(reported).toEqual([`${id} Error: queue down`])
  })
})

test('an unreachable database is named with its host, never its password', async () => {
  const client = createClient({ databaseUrl: 'postgres://me:s3cret@127.0.0.1:1/x', agents })
  const error: unknown = await client.startRun('stock', 1, { items: [] }).catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('127.0.0.1:1')
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)).not.toContain('s3cret')
  await client.close()
})

test('an agent by name needs its version where the client knows no agents', async () => {
  const client = createClient({ ledger })
  await expect(client.startRun('whoever', 1, { items: [] })).rejects.toMatchObject({ code: 'VERSION_NEEDED' })
  expect((await client.startRun('whoever', 1, { items: [], version: '3' })).isNew).toBe(true)
})
