/** A bulk operation outlives the producer that took it: killed in the middle, another goes on, and each run is acted on once. */
import { createClient } from '@pawl/client'
import { Ledger, migrateLedger, withTransaction } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { startProducerProcess, type Child } from './producer-child.testsuite.ts'

let database: FreshDatabase
let ledger: Ledger
const children: Child[] = []
const startChild = async (): Promise<Child> => {
  const child = await startProducerProcess(database.url)
  children.push(child)
  return child
}

beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url })
  await migrateLedger(ledger)
})
afterAll(async () => {
  for (const child of children) await child.kill()
  await ledger.close()
  await database.drop()
})

const runs = 240
/** A producer acts on four at once: it stands at these, with the first ones done, the last ones not begun, and four in its hands. */
const heldFrom = 100

test('a producer killed in the middle of a bulk operation: another takes over, and each run is resumed once', async () => {
  const first = await startChild()
  const client = createClient({ url: first.url })
  const ids: string[] = []
  for (let i = 0; i < runs; i++) ids.push((await client.startRun('stock', i, { items: [] })).id)
  await ledger.query(`update pawl.runs set status = 'running', paused = true`)
  const before = await ledger.query<{ n: number }>(`select count(*)::integer as n from pawl.events where kind = 'run.resumed'`)
  expect(before).toEqual([{ n: 0 }])

  let letGo: () => void = () => undefined
  const released = new Promise<void>((resolve) => { letGo = resolve })
  let isHeld: () => void = () => undefined
  const held = new Promise<void>((resolve) => { isHeld = resolve })
  const holding = withTransaction(ledger, { timeoutMs: 60_000 }, async (tx) => {
    await tx.query('select 1 from pawl.runs where id = any($1::uuid[]) for update', [ids.slice(heldFrom, heldFrom + 20)])
    isHeld()
    await released
  })
  await held
  const { id } = await client.bulk({ verb: 'resume', runIds: ids })
  const standing = async (): Promise<number> => (await ledger.query<{ n: number }>(`select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%step_bulk%'`))[0]?.n ?? 0
  await expect.poll(standing, { timeout: 30_000, interval: 50 }).toBe(4)
  const middle = await createClient({ ledger }).bulkStatus(id)
  expect([middle.total, middle.done]).toEqual([runs, heldFrom])
  await first.kill()

  const second = await startChild()
  letGo()
  await holding
  const through = createClient({ url: second.url })
  await expect.poll(async () => (await through.bulkStatus(id)).done, { timeout: 30_000, interval: 100 }).toBe(runs)
  const times = await ledger.query<{ n: number; runs: number }>(`select n, count(*)::integer as runs from (select run_id, count(*)::integer as n from pawl.events where kind = 'run.resumed' group by run_id) x group by n`)
  expect(times).toEqual([{ n: 1, runs }])
  expect(await ledger.query(`select count(*)::integer as n from pawl.runs where paused`)).toEqual([{ n: 0 }])
}, 120_000)
