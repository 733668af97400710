import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ledger } from './connect.ts'
import { startCuttingProxy } from './cutting-proxy.testsuite.ts'
import { isPassing } from './passing-error.ts'
import { openStage, uniqueName, until, type Stage } from './stage.testsuite.ts'
import { withTransaction } from './transaction.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.rows('create table public.t (n int)')
})
afterAll(async () => { await stage.close() })

const written = (n: number): Promise<number> => stage.value('select count(*)::int from public.t where n = $1', [n])
const insert = (n: number) => async (tx: { query(text: string, params: readonly unknown[]): Promise<unknown> }) => { await tx.query('insert into public.t values ($1)', [n]) }

test('it commits whole, and rolls back whole when the work throws', async () => {
  await withTransaction(stage.ledger, { timeoutMs: 5_000 }, insert(1))
  await expect(withTransaction(stage.ledger, { timeoutMs: 5_000 }, async (tx) => {
    await insert(2)(tx)
    throw new Error('no')
  })).rejects.toThrow('no')
  expect([await written(1), await written(2)]).toEqual([1, 0])
})

test('a statement whose error the work swallows commits nothing, and says so (case 57)', async () => {
  await expect(withTransaction(stage.ledger, { timeoutMs: 5_000 }, async (tx) => {
    await insert(3)(tx)
    await tx.query('select nothing_there').catch(() => {})
  })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  expect(await written(3)).toBe(0)
})

test('twenty transactions whose connection is killed leave the door open for the next, each with its own error (case 54)', async () => {
  const name = uniqueName()
  const ledger = stage.another({ name, connections: 2 })
  for (let n = 0; n < 20; n++) {
    await expect(withTransaction(ledger, { timeoutMs: 5_000 }, async (tx) => {
      await insert(4)(tx)
      await stage.rows('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [name])
      await tx.query('select 1')
    })).rejects.toMatchObject({ code: expect.stringMatching(/^(57P01|ECONNRESET|EPIPE|CONNECTION_CLOSED)$/) as string })
  }
  await withTransaction(ledger, { timeoutMs: 5_000 }, insert(5))
  expect([await written(4), await written(5)]).toEqual([0, 1])
})

test('a ledger that is away is an error that passes, not one of the work’s', async () => {
  const nowhere = new Ledger({ url: 'postgres://u:secret@127.0.0.1:1/x', name: uniqueName() })
  const failed = await withTransaction(nowhere, { timeoutMs: 1_000 }, insert(9)).catch((error: unknown) => error)
  expect(isPassing(failed)).toBe(true)
  await nowhere.close()
})

test('a connection that dies between two statements ends its own transaction only, never the process nor a neighbour', async () => {
  const name = uniqueName()
  const ledger = stage.another({ name, connections: 2 })
  const failed = await withTransaction(ledger, { timeoutMs: 5_000 }, async (outer) => {
    await insert(10)(outer)
    return await withTransaction(ledger, { timeoutMs: 5_000 }, async (tx) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await stage.rows('select pg_terminate_backend($1)', [rows[0]!.pid])
      await until('it is gone', async () => (await stage.rows('select 1 from pg_stat_activity where pid = $1', [rows[0]!.pid])).length === 0)
      await new Promise((resolve) => setImmediate(resolve))
      await tx.query('select 1')
    }).catch((error: unknown) => error)
  })
  expect(isPassing(failed)).toBe(true)
  expect(await written(10)).toBe(1)
})

test('a COMMIT whose answer is lost is “unknown, read again”, and what it wrote is there', async () => {
  const proxy = await startCuttingProxy(stage.url, 'COMMIT')
  const ledger = new Ledger({ url: proxy.url, name: uniqueName() })
  await withTransaction(ledger, { timeoutMs: 5_000 }, insert(6))
  const lost = proxy.loseNextAnswer()
  await expect(withTransaction(ledger, { timeoutMs: 5_000 }, insert(7))).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN', next: 'retry' })
  await lost
  expect([await written(6), await written(7)]).toEqual([1, 1])
  await withTransaction(ledger, { timeoutMs: 5_000 }, insert(8))
  expect(await written(8)).toBe(1)
  await Promise.all([ledger.close(), proxy.close()])
})

test('a slow statement is ended by the server at the transaction’s own limit', async () => {
  await expect(withTransaction(stage.ledger, { timeoutMs: 100 }, (tx) => tx.query('select pg_sleep(30)'))).rejects.toMatchObject({ code: '57014' })
})

test('what is still asked for after the end is refused, committed or not: on the returned connection it would commit by itself', async () => {
  let late: (n: number) => Promise<unknown> = () => Promise.resolve()
  const kept = async (tx: { query(text: string, params: readonly unknown[]): Promise<unknown> }) => { late = (n) => insert(n)(tx) }
  await withTransaction(stage.ledger, { timeoutMs: 5_000 }, kept)
  await expect(late(11)).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
  await expect(withTransaction(stage.ledger, { timeoutMs: 5_000 }, async (tx) => {
    await kept(tx)
    throw new Error('its deadline')
  })).rejects.toThrow('its deadline')
  await expect(late(12)).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
  expect([await written(11), await written(12)]).toEqual([0, 0])
})

test('a process that stands still in its transaction does not hold what it locked for ever: the server ends it', async () => {
  let isHeld: () => void = () => {}
  const held = new Promise<void>((resolve) => { isHeld = resolve })
  let go: () => void = () => {}
  const still = new Promise<void>((resolve) => { go = resolve })
  const stands = withTransaction(stage.another(), { timeoutMs: 100 }, async (tx) => {
    await insert(13)(tx)
    await tx.query('lock table public.t in access exclusive mode')
    isHeld()
    await still
  }).catch((error: unknown) => error)
  await held
  // Waits for the lock, and gets it.
  expect(await written(13)).toBe(0)
  go()
  expect(await stands).toMatchObject({ code: 'COMMIT_UNKNOWN' })
})
