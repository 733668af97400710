/**
 * Applies the migrations: the generated tables (forward only, in name order, each once) and the verbs (`sql/`, replaced as a whole
 * when their digest differs), under an advisory lock on a connection of its own, so that several processes may start at once.
 * Not drizzle's migrator: it has no lock and skips an entry whose time is older than the newest one applied.
 */
import { newId, PawlError, sha256 } from '@pawl/core'
import { readdirSync, readFileSync } from 'node:fs'
import type { Ledger } from './connect.ts'
import { withTransaction, type Transaction } from './transaction.ts'

const migrationsFolder = new URL('../migrations/', import.meta.url)
const verbsFolder = new URL('../sql/', import.meta.url)
/** Raised when a verb's meaning or signature changes; verbs stay callable by the release before. */
const verbsVersion = 8

interface Migration {
  readonly name: string
  readonly text: string
  readonly digest: string
}

function filesIn(folder: URL): Migration[] {
  return readdirSync(folder).filter((name) => name.endsWith('.sql')).toSorted().map((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8')
    return { name, text, digest: sha256(text) }
  })
}

export const expectedMigrations = (): readonly Migration[] => filesIn(migrationsFolder)

function expectedVerbs(): { text: string; digest: string } {
  const text = filesIn(verbsFolder).map((file) => file.text).join('\n')
  return { text, digest: sha256(text) }
}

/** Brings the database to this build's schema. Safe to call from every process at start. Returns the names applied now. */
export async function migrateLedger(ledger: Ledger): Promise<string[]> {
  return await withTransaction(ledger, { timeoutMs: 120_000 }, async (tx) => {
    await tx.query('select pg_advisory_xact_lock(7161876)')
    await tx.query('create schema if not exists pawl_meta')
    await tx.query('create table if not exists pawl_meta.migrations (name text primary key, digest text not null, version integer not null, applied_at timestamptz not null default clock_timestamp())')
    const { rows } = await tx.query<{ name: string; digest: string; version: number }>('select name, digest, version from pawl_meta.migrations')
    const applied: string[] = []
    for (const migration of expectedMigrations()) {
      const before = rows.find((row) => row.name === migration.name)
      if (before && before.digest !== migration.digest) {
        throw new PawlError('MIGRATION_CHANGED', `Migration ${migration.name} was applied in another form than this build has. Migrations are forward only: restore the file and add a new one.`, 'crash', { migration: migration.name })
      }
      if (before) continue
      for (const statement of migration.text.split('--> statement-breakpoint')) await tx.query(statement)
      await tx.query('insert into pawl_meta.migrations (name, digest, version) values ($1, $2, 0)', [migration.name, migration.digest])
      applied.push(migration.name)
    }
    await applyVerbs(tx, rows.find((row) => row.name === 'verbs'), applied)
    await tx.query(`insert into pawl.ledger (id, system_identifier, timeline, written_in)
      select $1, (select system_identifier::text from pg_control_system()), pawl.timeline_now(), pawl.row_origin(pg_current_xact_id()::xid) on conflict do nothing`, [newId()])
    // A ledger from before this column: what it is now is the measure.
    await tx.query('update pawl.ledger set written_in = pawl.row_origin(pg_current_xact_id()::xid) where written_in is null')
    await tx.query('insert into pawl.sweeper default values on conflict do nothing')
    return applied
  })
}

async function applyVerbs(tx: Transaction, before: { digest: string; version: number } | undefined, applied: string[]): Promise<void> {
  const verbs = expectedVerbs()
  if (before && (before.digest === verbs.digest || before.version > verbsVersion)) return
  // Verbs may call each other whatever the order of their files.
  await tx.script(`set local check_function_bodies = off;\n${verbs.text}`)
  await tx.query(`insert into pawl_meta.migrations (name, digest, version) values ('verbs', $1, $2)
    on conflict (name) do update set digest = excluded.digest, version = excluded.version, applied_at = clock_timestamp()`, [verbs.digest, verbsVersion])
  applied.push('verbs')
}

/** Refuses to serve a schema this build does not know, naming the command that mends it. */
export async function checkSchema(ledger: Ledger): Promise<void> {
  const [found] = await ledger.query<{ there: boolean }>(`select to_regclass('pawl_meta.migrations') is not null as there`, [], { retryForMs: 5_000 })
  const rows = found?.there ? await ledger.query<{ name: string; digest: string; version: number }>('select name, digest, version from pawl_meta.migrations') : []
  const missing = expectedMigrations().filter((migration) => !rows.some((row) => row.name === migration.name))
  const verbs = rows.find((row) => row.name === 'verbs')
  if (missing.length > 0 || !verbs || verbs.version < verbsVersion) {
    const what = missing.length > 0 ? missing.map((migration) => migration.name).join(', ') : 'verbs'
    throw new PawlError('SCHEMA_BEHIND', `The database at ${ledger.host} lacks ${what}. Run "pawl migrate", then start again.`, 'crash', { missing: what })
  }
}
