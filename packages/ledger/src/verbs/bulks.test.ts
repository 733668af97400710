import { newId, newRunId } from '@pawl/core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import { Ledger } from '../connect.ts'
import { migrateLedger } from '../migrate.ts'
import { listBulkRuns } from '../reads/get-bulk.ts'
import { withTransaction } from '../transaction.ts'
import { startBulk, stepBulk, type BulkVerb } from './bulks.ts'

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

let runIds: string[]
/** Three failed runs of one failed item each. */
beforeEach(async () => {
  runIds = [newRunId(), newRunId(), newRunId()]
  for (const id of runIds) {
    await ledger.query(`insert into pawl.runs (id, namespace, agent, agent_version, input, policy, status, started_at, created_by) values ($1, 'default', 'a', '1', 'null', '{}', 'failed', clock_timestamp(), 'x')`, [id])
    await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status) values ($1, 1, 'work', 'a', 'null', 'failed')`, [id])
  }
})

const start = async (verb: BulkVerb, ids: readonly string[]): Promise<string> =>
  (await startBulk(ledger, { id: newRunId(), namespace: 'default', key: null, digest: 'd', verb, createdBy: 'ann', reason: null, runIds: ids })).id
const outcomes = async (id: string): Promise<(string | null)[]> => (await listBulkRuns(ledger, id, {})).entries.map((entry) => entry.outcome)
const resumed = async (): Promise<number[]> => (await ledger.query<{ n: number }>(
  `select (select count(*)::integer from pawl.events e where e.run_id = x::uuid and e.kind = 'run.resumed') as n from json_array_elements_text($1::json) as x`, [JSON.stringify(runIds)])).map((row) => row.n)

/** While somebody holds rows, found by a statement. */
async function whileHeld(text: string, params: readonly unknown[], work: () => Promise<void>): Promise<void> {
  let letGo: () => void = () => undefined
  const released = new Promise<void>((resolve) => { letGo = resolve })
  let isHeld: () => void = () => undefined
  const held = new Promise<void>((resolve) => { isHeld = resolve })
  const holding = withTransaction(ledger, { timeoutMs: 9_000 }, async (tx) => {
    await tx.query(text, params)
    isHeld()
    await released
  })
  await held
  try {
    await work()
  } finally {
    letGo()
    await holding
  }
}

test('of two steps at once, also when the first stands in the middle, each takes another run; no run is acted on twice', async () => {
  const id = await start('resume', runIds)
  let standing: Promise<unknown> = Promise.resolve()
  await whileHeld('select 1 from pawl.items where run_id = $1 for update', [runIds[0]], async () => {
    standing = stepBulk(ledger, id)
    const waits = async () => (await ledger.query<{ n: number }>(`select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%step_bulk%'`))[0]?.n
    await expect.poll(waits, { interval: 20 }).toBe(1)
    // As another process would, on a connection of its own.
    expect(await stepBulk(ledger, id)).toMatchObject({ runId: runIds[1], outcome: 'done' })
    expect(await stepBulk(ledger, id)).toMatchObject({ runId: runIds[2], outcome: 'done' })
    expect(await stepBulk(ledger, id)).toBeUndefined()
  })
  expect(await standing).toMatchObject({ runId: runIds[0], outcome: 'done' })
  expect([await stepBulk(ledger, id), await outcomes(id), await resumed()]).toEqual([undefined, ['done', 'done', 'done'], [1, 1, 1]])
})

test('a run that somebody has in hand is passed over, and taken when it is free', async () => {
  const id = await start('resume', runIds)
  await whileHeld('select 1 from pawl.runs where id = $1 for update', [runIds[0]], async () => {
    expect([await stepBulk(ledger, id), await stepBulk(ledger, id), await stepBulk(ledger, id)].map((step) => step?.runId)).toEqual([runIds[1], runIds[2], undefined])
  })
  expect((await stepBulk(ledger, id))?.runId).toBe(runIds[0])
  expect(await resumed()).toEqual([1, 1, 1])
})

test('a verb that fails in one run leaves it as it was, says so, and the others go on', async () => {
  const id = await start('resume', runIds)
  await ledger.query(`create function pawl.test_refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`)
  await ledger.query(`create trigger test_refuse before update on pawl.runs for each row when (new.id = '${runIds[1] ?? ''}') execute function pawl.test_refuse()`)
  try {
    for (let n = 0; n < 3; n++) await stepBulk(ledger, id)
  } finally {
    await ledger.query('drop trigger test_refuse on pawl.runs')
    await ledger.query('drop function pawl.test_refuse')
  }
  expect((await listBulkRuns(ledger, id, {})).entries).toMatchObject([{ outcome: 'done' }, { outcome: 'failed', detail: expect.stringContaining('not this one') as string }, { outcome: 'done' }])
  expect(await resumed()).toEqual([1, 0, 1])
  expect(await ledger.query('select status from pawl.items where run_id = $1', [runIds[1] ?? ''])).toEqual([{ status: 'failed' }])
})

test('a run of another namespace, one that never was and one that is gone meanwhile are missing, alike', async () => {
  const [gone = '', foreign = '', ours = ''] = runIds
  await ledger.query(`update pawl.runs set namespace = 'red' where id = $1`, [foreign])
  const id = await start('pause', [gone, foreign, ours, newId()])
  await ledger.query('delete from pawl.items where run_id = $1', [gone])
  await ledger.query('delete from pawl.runs where id = $1', [gone])
  while ((await stepBulk(ledger, id)) !== undefined) { /* the next one */ }
  const { entries } = await listBulkRuns(ledger, id, {})
  expect(entries.filter((entry) => entry.outcome === 'missing')).toHaveLength(3)
  expect(entries.find((entry) => entry.runId === ours)).toMatchObject({ outcome: 'wrong_state', detail: 'failed' })
})
