import { NotApplied } from '@pawl/core'
import { Pool, type PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import type { ToolTransaction } from '../define-tool.ts'
import { rejection, testContext, verifyContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { keyedCallsTable, keyedSqlTool, sqlTool, type SqlToolOptions } from './sql-tool.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = new Pool({ connectionString: database.url, max: 10 })
  pool.on('error', () => {})
  await pool.query(keyedCallsTable())
  await pool.query('create table stock (sku text primary key, pieces int not null check (pieces >= 0))')
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await pool.query('truncate stock, pawl_calls')
  await pool.query("insert into stock values ('a', 10)")
})

const asTransaction = (client: PoolClient): ToolTransaction => ({
  query: async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) => {
    const { rows, rowCount } = await client.query<Row>(text, [...values])
    return { rows, rowCount: rowCount ?? 0 }
  },
})

async function transaction<T>(work: (tx: ToolTransaction) => Promise<T>, beforeCommit = async (_client: PoolClient) => {}): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  client.on('error', (error) => (broken = error))
  try {
    await client.query('begin')
    const result = await work(asTransaction(client))
    await beforeCommit(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => (broken = failure))
    throw error
  } finally {
    client.release(broken)
  }
}

type Input = { sku: string; pieces: number }
type Result = { left: number; at: Date }
const options: SqlToolOptions<Input, Result> = {
  name: 'stock.take',
  description: 'Takes pieces from the stock',
  inputSchema: z.object({ sku: z.string(), pieces: z.int() }),
  outputSchema: z.object({ left: z.int(), at: z.date() }),
  run: async (tx, { sku, pieces }) => {
    const { rows } = await tx.query<{ left: number; at: Date }>('update stock set pieces = pieces - $2 where sku = $1 returning pieces as left, now() as at', [sku, pieces])
    const [row] = rows
    if (!row) throw new Error(`no stock of ${sku}`)
    return row
  },
}
const pieces = async () => (await pool.query<{ pieces: number }>("select pieces from stock where sku = 'a'")).rows[0]?.pieces
const keyed = (change: Partial<Parameters<typeof keyedSqlTool<Input, Result>>[0]> = {}) => keyedSqlTool({ ...options, transaction, ...change })
const take3 = { sku: 'a', pieces: 3 }

describe('sqlTool', () => {
  it('is transactional: its statements live and die with the transaction it is given', async () => {
    const tool = sqlTool(options)
    expect(tool.effect).toBe('transactional')
    await rejection(transaction(async (tx) => {
      expect(await tool.execute(take3, testContext('k', { tx }))).toMatchObject({ left: 7 })
      throw new Error('the completion could not be written')
    }))
    expect(await pieces()).toBe(10)
    await transaction((tx) => tool.execute(take3, testContext('k', { tx })))
    expect(await pieces()).toBe(7)
  })
})

describe('keyedSqlTool', () => {
  it('is idempotent: the same key is one effect and one result, dates included', async () => {
    const tool = keyed()
    expect(tool).toMatchObject({ effect: 'idempotent', concurrent: true })
    const first = await tool.execute(take3, testContext('k'))
    expect(first.at).toBeInstanceOf(Date)
    expect(await tool.execute(take3, testContext('k'))).toEqual(first)
    expect(await tool.verify?.(take3, verifyContext('k'))).toEqual({ verdict: 'applied', result: first })
    expect(await tool.verify?.(take3, verifyContext('other'))).toEqual({ verdict: 'notApplied' })
    expect(await pieces()).toBe(7)
  })

  it('eight simultaneous calls with one key are one effect', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => keyed().execute(take3, testContext('k'))))
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
    expect(await pieces()).toBe(7)
  })

  it('a second call waits for the first one under way and takes its result', async () => {
    let second: Promise<Result> | undefined
    const first = keyed({
      transaction: (work) => transaction(work, async () => {
        second = keyed().execute(take3, testContext('k'))
        await waitForLockWaiter()
      }),
    })
    const result = await first.execute(take3, testContext('k'))
    expect(await second).toEqual(result)
    expect(await pieces()).toBe(7)
  })

  it('a second call does the work when the first one is rolled back', async () => {
    let second: Promise<Result> | undefined
    const first = keyed({
      transaction: (work) => transaction(work, async () => {
        second = keyed().execute(take3, testContext('k'))
        await waitForLockWaiter()
        throw new Error('killed before commit')
      }),
    })
    await rejection(first.execute(take3, testContext('k')))
    expect(await second).toMatchObject({ left: 7 })
    expect(await pieces()).toBe(7)
  })

  it('a failing statement is proved not applied, and the key stays free', async () => {
    expect(await rejection(keyed().execute({ sku: 'a', pieces: 11 }, testContext('k')))).toBeInstanceOf(NotApplied)
    expect(await rejection(keyed().execute({ sku: 'none', pieces: 1 }, testContext('k')))).toMatchObject({ name: 'NotApplied', message: 'rolled back: no stock of none' })
    expect(await keyed().execute(take3, testContext('k'))).toMatchObject({ left: 7 })
  })

  it('a commit whose answer is lost leaves the call unsettled, and calling again settles it', async () => {
    const lost = keyed({
      transaction: async (work) => {
        await transaction(work)
        throw new Error('connection lost during commit')
      },
    })
    expect(await rejection(lost.execute(take3, testContext('k')))).not.toBeInstanceOf(NotApplied)
    expect(await keyed().execute(take3, testContext('k'))).toMatchObject({ left: 7 })
    expect(await pieces()).toBe(7)
  })

  it('verify waits for a first call that is still to commit, and leaves no key behind', async () => {
    let verdict: unknown
    const first = keyed({
      transaction: (work) => transaction(work, async () => {
        verdict = keyed().verify?.(take3, verifyContext('k'))
        await waitForLockWaiter()
      }),
    })
    const result = await first.execute(take3, testContext('k'))
    expect(await verdict).toEqual({ verdict: 'applied', result })
    expect(await keyed().verify?.(take3, verifyContext('other'))).toEqual({ verdict: 'notApplied' })
    expect((await pool.query<{ key: string }>('select key from pawl_calls')).rows).toEqual([{ key: 'k' }])
  })

  it('a closed guard rolls back', async () => {
    const context = testContext('k')
    context.closeGuard()
    expect(await rejection(keyed().execute(take3, context))).toBeInstanceOf(NotSent)
    expect(await pieces()).toBe(10)
  })

  it('a table that is no plain name is refused', () => {
    expect(() => keyed({ table: 'x; drop table stock' })).toThrow(/not a plain name/)
  })

  async function waitForLockWaiter(): Promise<void> {
    await expect.poll(async () => (await pool.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).rowCount, { timeout: 5_000, interval: 20 }).toBeGreaterThan(0)
  }
})
