/** Case 110 at the ledger's own door: a migration that was passed over is missed, whatever came after it. */
import { checkSchema, Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fastServices } from '../fast-services.testsuite.ts'

const services = fastServices()
let ledger: Ledger
beforeAll(async () => {
  ledger = new Ledger({ url: await services.freshDatabase() })
  await migrateLedger(ledger)
})
afterAll(async () => { await ledger.close() })

test('case 110: a migration that a later one was applied before is named, refused to be served without, and applied by the next migrate', async () => {
  // As another branch's later migration left the database: recorded, newer in time, and the earlier one is not there.
  await ledger.query('drop schema pawl cascade')
  await ledger.query(`delete from pawl_meta.migrations where name <> 'verbs'`)
  await ledger.query(`update pawl_meta.migrations set digest = 'of before' where name = 'verbs'`)
  await ledger.query(`insert into pawl_meta.migrations (name, digest, version, applied_at) values ('9999_of_the_other_branch.sql', 'its digest', 0, clock_timestamp() + interval '1 day')`)
  await expect(checkSchema(ledger)).rejects.toMatchObject({ code: 'SCHEMA_BEHIND', message: expect.stringContaining('0000_tables.sql') as string })
  expect(await migrateLedger(ledger)).toContain('0000_tables.sql')
  await checkSchema(ledger)
  expect((await readIdentity(ledger)).isTrusted).toBe(true)
})
