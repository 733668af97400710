import { afterEach, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { Ledger } from './connect.ts'
import { clearLedger, readIdentity } from './identity.ts'
import { checkSchema, migrateLedger } from './migrate.ts'

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
    expect(applied.map((names) => names.length).toSorted((a, b) => a - b)).toEqual([0, 0, 3])
    for (const one of three) await checkSchema(one)
    const identities = await Promise.all(three.map((one) => readIdentity(one)))
    expect(new Set(identities.map((one) => one.id)).size).toBe(1)
    expect(await three[0]!.query('select name, count(*)::int as n from pawl_meta.migrations group by name order by name')).toEqual([{ name: '0000_tables.sql', n: 1 }, { name: '0001_ledger_history.sql', n: 1 }, { name: 'verbs', n: 1 }])
    await Promise.all(three.map((one) => one.close()))
    await fresh.drop()
  }
}, 120_000)

test('migrating again changes nothing', async () => {
  expect(await migrateLedger(ledger)).toEqual(['0000_tables.sql', '0001_ledger_history.sql', 'verbs'])
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
  await clearLedger(ledger, 'ann')
  expect(await readIdentity(ledger)).toMatchObject({ isTrusted: true, timeline: '00000001' })
  await ledger.query(`update pawl.ledger set system_identifier = '7'`)
  expect((await readIdentity(ledger)).isTrusted).toBe(false)
  await clearLedger(ledger, 'ann')
  expect((await ledger.query('select cleared_by, cleared_at is not null as cleared from pawl.ledger'))).toEqual([{ cleared_by: 'ann', cleared: true }])
})
