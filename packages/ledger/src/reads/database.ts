/**
 * Drizzle for reads, over the ledger's own door. Drizzle's postgres-js driver changes that client's JSON and date parsing and knows no deadline,
 * so it never gets a client: it builds the statement, `Ledger.query` sends it with its deadline and replaces a dead connection, drizzle maps the row.
 * Rows come back by column name, so no select may name two columns alike: joined columns are aliased with `as`.
 */
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import type { Ledger, Param } from '../connect.ts'

const retryForMs = 3_000
const databases = new WeakMap<Ledger, PgRemoteDatabase>()

export function readsOn(ledger: Ledger): PgRemoteDatabase {
  const known = databases.get(ledger)
  if (known) return known
  const database = drizzle(async (text, params, method) => {
    const rows = await ledger.query(text, params as Param[], { retryForMs })
    return { rows: method === 'all' ? rows.map((row) => Object.values(row)) : rows }
  })
  databases.set(ledger, database)
  return database
}
