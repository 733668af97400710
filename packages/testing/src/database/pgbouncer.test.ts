/** The ledger behind a real pgbouncer in transaction mode: said so, it does what it does directly; not said so, one clear sentence. */
import { clearLedger, Ledger, migrateLedger, readGap, readIdentity, withTransaction } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describePgBouncer, freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import { loadLedger } from './ledger-load.ts'
import { findPgBouncer, startPgBouncer, type PgBouncer } from './pgbouncer.ts'

describePgBouncer('the ledger behind pgbouncer', findPgBouncer() !== null, () => {
  let database: FreshDatabase
  let pooler: PgBouncer
  beforeAll(async () => {
    database = await freshDatabase()
    pooler = await startPgBouncer(database.url, { poolSize: 2 })
  })
  afterAll(async () => {
    await pooler.stop()
    await database.drop()
  })
  const pooledUrl = (): string => `${pooler.url}?pgbouncer=true`

  test('a pooler that was not announced is refused with the sentence that says what to do', async () => {
    const ledger = new Ledger({ url: pooler.url })
    await expect(ledger.query('select 1')).rejects.toMatchObject({ code: 'LEDGER_POOLED', next: 'crash', message: expect.stringContaining('?pgbouncer=true') as string })
    await expect(migrateLedger(ledger)).rejects.toMatchObject({ code: 'LEDGER_POOLED' })
    await ledger.close()
  })

  test('three processes migrate at once under the advisory lock, and the history is known', async () => {
    const three = [1, 2, 3].map(() => new Ledger({ url: pooledUrl() }))
    const applied = await Promise.all(three.map((one) => migrateLedger(one)))
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    expect(await readIdentity(three[0]!)).toMatchObject({ isTrusted: true })
    expect(await clearLedger(three[1]!, 'ann', (await readGap(three[1]!)).digest)).toBe(true)
    expect(await readIdentity(three[2]!)).toMatchObject({ isTrusted: true })
    await Promise.all(three.map((one) => one.close()))
  })

  test('what one client’s transaction sets is not there for the next client of the same server connection', async () => {
    const [one, other] = [new Ledger({ url: pooledUrl() }), new Ledger({ url: pooledUrl() })]
    const before = await other.query('show statement_timeout')
    await withTransaction(one, { timeoutMs: 1_234 }, async (tx) => expect((await tx.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '1234ms' }]))
    for (let n = 0; n < 6; n++) expect(await other.query('show statement_timeout')).toEqual(before)
    await Promise.all([one.close(), other.close()])
  })

  test('under load every operation ends in time, and what was acknowledged is there, what was rolled back is not', async () => {
    const report = await loadLedger(pooledUrl(), database.url, async () => { await new Promise((resolve) => setTimeout(resolve, 1_000)) })
    expect(report).toMatchObject({ failed: 0, late: 0, lostRows: 0, survivors: 0, problems: [] })
    expect(report.acknowledged).toBeGreaterThan(10)
  })
})
