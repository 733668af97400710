import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyDatabase, freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { Ledger } from './connect.ts'
import { HistoryGauge } from './history.ts'
import { clearLedger, noteLoss, readIdentity } from './identity.ts'
import { checkSchema, expectedMigrations, migrateLedger } from './migrate.ts'
import { readGap } from './reads/read-gap.ts'

let database: FreshDatabase
let ledger: Ledger
beforeEach(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url })
})
afterEach(async () => {
  await ledger.close()
  await database.drop()
})

test('three processes that migrate an empty database at once all start, and each migration is recorded once, five times over (case 108)', async () => {
  for (let n = 0; n < 5; n++) {
    const fresh = await freshDatabase()
    const three = [1, 2, 3].map(() => new Ledger({ url: fresh.url }))
    const applied = await Promise.all(three.map((one) => migrateLedger(one)))
    expect(applied.map((names) => names.length).toSorted((a, b) => a - b)).toEqual([0, 0, expectedMigrations().length + 1])
    for (const one of three) await checkSchema(one)
    const identities = await Promise.all(three.map((one) => readIdentity(one)))
    expect(new Set(identities.map((one) => one.id)).size).toBe(1)
    expect(await three[0]!.query('select name, count(*)::int as n from pawl_meta.migrations group by name order by name')).toEqual([...expectedMigrations().map(({ name }) => ({ name, n: 1 })), { name: 'verbs', n: 1 }])
    await Promise.all(three.map((one) => one.close()))
    await fresh.drop()
  }
}, 120_000)

test('migrating again changes nothing', async () => {
  expect(await migrateLedger(ledger)).toEqual([...expectedMigrations().map(({ name }) => name), 'verbs'])
  const { id } = await readIdentity(ledger)
  expect(await migrateLedger(ledger)).toEqual([])
  expect((await readIdentity(ledger)).id).toBe(id)
})

test('a database that was never migrated is refused with the command that mends it', async () => {
  await expect(checkSchema(ledger)).rejects.toMatchObject({ code: 'SCHEMA_BEHIND', next: 'crash', message: expect.stringContaining('pawl migrate') as string })
  await expect(readIdentity(ledger)).rejects.toMatchObject({ code: 'NO_LEDGER', message: expect.stringContaining('pawl migrate') as string })
})

test('a schema or verbs behind this build are refused, ones ahead are served', async () => {
  await migrateLedger(ledger)
  await ledger.query(`update pawl_meta.migrations set version = version - 1 where name = 'verbs'`)
  await expect(checkSchema(ledger)).rejects.toMatchObject({ code: 'SCHEMA_BEHIND', details: { missing: 'verbs' } })
  await ledger.query(`update pawl_meta.migrations set version = version + 5, digest = 'newer' where name = 'verbs'`)
  await checkSchema(ledger)
  expect(await migrateLedger(ledger)).toEqual([]) // an older build does not put its verbs over newer ones
  await ledger.query(`delete from pawl_meta.migrations where name = '0000_tables.sql'`)
  await expect(checkSchema(ledger)).rejects.toMatchObject({ code: 'SCHEMA_BEHIND', message: expect.stringContaining('0000_tables.sql') as string })
})

test('a migration that was changed after it was applied is refused, and nothing is written', async () => {
  await migrateLedger(ledger)
  await ledger.query(`update pawl_meta.migrations set digest = 'other' where name = '0000_tables.sql'`)
  await expect(migrateLedger(ledger)).rejects.toMatchObject({ code: 'MIGRATION_CHANGED' })
})

test('a ledger on another timeline or another server is not trusted until a person clears it (hole 9)', async () => {
  await migrateLedger(ledger)
  expect(await readIdentity(ledger)).toMatchObject({ isTrusted: true, timeline: '00000001' })
  await ledger.query(`update pawl.ledger set timeline = '00000009'`)
  expect(await readIdentity(ledger)).toMatchObject({ isTrusted: false, timeline: '00000009' })
  expect(await clearLedger(ledger, 'ann', (await readGap(ledger)).digest)).toBe(true)
  expect(await readIdentity(ledger)).toMatchObject({ isTrusted: true, timeline: '00000001' })
  await ledger.query(`update pawl.ledger set system_identifier = '7'`)
  expect((await readIdentity(ledger)).isTrusted).toBe(false)
  expect(await clearLedger(ledger, 'ann', (await readGap(ledger)).digest)).toBe(true)
  expect((await ledger.query('select cleared_by, cleared_at is not null as cleared from pawl.ledger'))).toEqual([{ cleared_by: 'ann', cleared: true }])
})

test('a ledger that came out of a dump, or whose database was copied, is not trusted, though server and timeline are the same', async () => {
  await migrateLedger(ledger)
  expect((await readIdentity(ledger)).isTrusted).toBe(true)
  // What loading a dump does: the same values, written by another transaction.
  await ledger.query('with old as (delete from pawl.ledger returning *) select 1 from old')
  await expect(readIdentity(ledger)).rejects.toMatchObject({ code: 'NO_LEDGER' })
  await ledger.query(`insert into pawl.ledger (id, system_identifier, timeline, written_in) select gen_random_uuid(), (select system_identifier::text from pg_control_system()), pawl.timeline_now(), '1/1'`)
  expect((await readIdentity(ledger)).isTrusted).toBe(false)
  expect(await clearLedger(ledger, 'ann', (await readGap(ledger)).digest)).toBe(true)
  expect((await readIdentity(ledger)).isTrusted).toBe(true)
  await ledger.close()
  const copied = await copyDatabase(database)
  const copy = new Ledger({ url: copied.url })
  expect(await readIdentity(copy)).toMatchObject({ isTrusted: false })
  await copy.close()
  await copied.drop()
  ledger = new Ledger({ url: database.url })
})

test('a loss noted for the history that was seen holds every claim and dispatch until it is cleared; one noted late for a cleared ledger does nothing', async () => {
  await migrateLedger(ledger)
  const { history } = await readIdentity(ledger)
  expect(await noteLoss(ledger, history, 'files were put back', { lost: [{ run: 'r', item: 1, key: 'k', tool: 't', effect: 'non-idempotent', at: '2026-01-01T00:00:00.000Z', why: 'missing' }] })).toBe(true)
  expect((await readIdentity(ledger)).isTrusted).toBe(false)
  expect(await readGap(ledger)).toMatchObject({ why: 'files were put back', lostCalls: [{ key: 'k' }], begun: 0 })
  expect(await clearLedger(ledger, 'ann', (await readGap(ledger)).digest)).toBe(true)
  expect(await noteLoss(ledger, history, 'too late')).toBe(false)
  expect((await readIdentity(ledger)).isTrusted).toBe(true)
})

test('a position further back than one this process was told is a history that went back; answers that overtake each other are not', () => {
  const gauge = new HistoryGauge()
  const said = (lsn: number): string => JSON.stringify({ timeline: '00000001', since: '1/1', known: true, cleared: 0, lsn: String(lsn) })
  const [first, second] = [gauge.begin(), gauge.begin()]
  expect([second(said(20)).hasGoneBack, first(said(10)).hasGoneBack]).toEqual([false, false])
  const before = gauge.begin()
  expect(gauge.begin()(said(19)).hasGoneBack).toBe(true)
  gauge.reset()
  expect([before(said(5)).hasGoneBack, gauge.begin()(said(5)).hasGoneBack]).toEqual([false, false])
})
