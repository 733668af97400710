/** A bulk operation outlives the producer that took it: killed in the middle, another goes on, and each run is acted on once. */
import { createClient } from '@pawl/client'
import { newRunId } from '@pawl/core'
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

test('a producer killed in the middle of a bulk operation: another takes over, and each run is acted on once', async () => {
  const first = await startChild()
  const client = createClient({ url: first.url })
  const ids = Array.from({ length: runs }, () => newRunId())
  await ledger.query(`insert into pawl.runs (id, namespace, agent, agent_version, input, policy, status, paused, started_at, created_by)
    select x::uuid, 'default', 'stock', '1', 'null', '{"onFailure":"hold"}', 'failed', true, clock_timestamp(), 'x' from json_array_elements_text($1::json) as x`, [JSON.stringify(ids)])
  await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status) select x::uuid, 1, 'work', 'a', 'null', 'failed' from json_array_elements_text($1::json) as x`, [JSON.stringify(ids)])

  let letGo: () => void = () => undefined
  const released = new Promise<void>((resolve) => { letGo = resolve })
  let isHeld: () => void = () => undefined
  const held = new Promise<void>((resolve) => { isHeld = resolve })
  // Items, not runs: a run that somebody has in hand would be passed over.
  const holding = withTransaction(ledger, { timeoutMs: 60_000 }, async (tx) => {
    await tx.query('select 1 from pawl.items where run_id = any($1::uuid[]) for update', [ids.slice(heldFrom, heldFrom + 20)])
    isHeld()
    await released
  })
  await held
  const { id } = await client.bulk({ verb: 'resume', runIds: ids })
  const standing = async (): Promise<number> => (await ledger.query<{ n: number }>(`select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%step_bulk%'`))[0]?.n ?? 0
  await expect.poll(standing, { timeout: 30_000, interval: 20 }).toBe(4)
  await first.kill()
  // Nobody is told of the death: its last four statements stand in the server, each with its run, and the rest is open.
  expect(await createClient({ ledger }).bulkStatus(id)).toMatchObject({ total: runs, done: heldFrom, failed: 0 })
  letGo()
  await holding

  const second = await startChild()
  const through = createClient({ url: second.url })
  await expect.poll(async () => (await through.bulkStatus(id)).done, { timeout: 60_000, interval: 100 }).toBe(runs)
  const times = await ledger.query<{ n: number; runs: number }>(`select n, count(*)::integer as runs from (select run_id, count(*)::integer as n from pawl.events where kind = 'run.resumed' group by run_id) x group by n`)
  expect(times).toEqual([{ n: 1, runs }])
  expect(await ledger.query(`select count(*)::integer as n from pawl.runs where status = 'running' and not paused`)).toEqual([{ n: runs }])
}, 180_000)
