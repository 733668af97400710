/** The ledger's Postgres: does it answer, does it keep what it acknowledged, is it the one the ledger was written on, does its clock agree with ours. */
import { PawlError } from '@pawl/core'
import { checkSchema, readIdentity, type Ledger } from '@pawl/ledger'
import { z } from 'zod'
import { checkGap } from './check-gap.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const oldest = 140_000
const mostDriftMs = 2_000

const settings = z.object({ version: z.string(), number: z.coerce.number(), fsync: z.string(), commit: z.string(), pages: z.string(), now: z.coerce.number() })

/** The schema's finding decides whether the ledger can be looked into at all. */
export async function checkPostgres(ledger: Ledger): Promise<{ findings: Finding[]; isReadable: boolean }> {
  const before = Date.now()
  const row = await ledger.query(`select current_setting('server_version') as version, current_setting('server_version_num') as number, current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages, extract(epoch from clock_timestamp()) * 1000 as now`, [], { retryForMs: 3_000 })
    .then((rows) => settings.parse(rows[0]), (error: unknown) => (error instanceof Error ? error : new Error(String(error))))
  if (row instanceof Error) {
    return { findings: [fail('postgres', row instanceof PawlError ? row.message : `${ledger.host}: ${row.message}`, 'Start it, or correct DATABASE_URL (or --database).')], isReadable: false }
  }
  const roundTripMs = Date.now() - before
  const schema = await checkLedgerSchema(ledger)
  return {
    findings: [
      row.number >= oldest
        ? ok('postgres', `Postgres ${row.version} at ${ledger.host} answers`)
        : fail('postgres', `Postgres ${row.version} at ${ledger.host} is too old`, 'Pawl needs 14 or newer.'),
      ...checkDurability(row),
      checkClock(row.now - before - roundTripMs / 2, roundTripMs),
      ...schema,
    ],
    isReadable: schema.every((finding) => finding.check !== 'schema' || finding.level === 'ok'),
  }
}

function checkDurability(row: z.infer<typeof settings>): Finding[] {
  const lossy = [
    ...(row.fsync === 'off' ? ['fsync'] : []),
    ...(row.pages === 'off' ? ['full_page_writes'] : []),
    ...(row.commit === 'off' ? ['synchronous_commit'] : []),
  ]
  if (lossy.length === 0) return [ok('durability', `fsync, full_page_writes and synchronous_commit (${row.commit}) are on: what was acknowledged survives a crash`)]
  return [fail('durability', `${lossy.join(', ')} ${lossy.length === 1 ? 'is' : 'are'} off: a crash may lose intents that were acknowledged, and their calls would be sent again`,
    lossy.map((name) => `alter system set ${name} = on;`).concat('select pg_reload_conf();').join(' '))]
}

function checkClock(driftMs: number, roundTripMs: number): Finding {
  const words = `the database's clock and this host's differ by ${Math.abs(Math.round(driftMs))} ms`
  return Math.abs(driftMs) <= mostDriftMs + roundTripMs
    ? ok('clock', words)
    : warn('clock', words, 'Leases do not depend on it, but times in lists, logs and labels will mislead: run NTP on both.')
}

async function checkLedgerSchema(ledger: Ledger): Promise<Finding[]> {
  try {
    await checkSchema(ledger)
  } catch (error) {
    return [fail('schema', error instanceof Error ? error.message : String(error), 'pawl migrate')]
  }
  const { isTrusted, timeline, id } = await readIdentity(ledger)
  return [
    ok('schema', 'the schema is up to date'),
    ...(isTrusted ? [ok('timeline', `ledger ${id} is on the server and history it was written on (timeline ${timeline})`)] : await checkGap(ledger)),
  ]
}
