import type { z } from 'zod'
import type { Ledger, Param, QueryOptions } from '../connect.ts'

/** Calls a plpgsql verb and parses every row it returns. */
export async function runVerb<T>(ledger: Ledger, name: string, params: readonly Param[], row: z.ZodType<T>, options?: QueryOptions): Promise<T[]> {
  const places = params.map((_, i) => `$${i + 1}`).join(', ')
  const rows = await ledger.query(`select * from pawl.${name}(${places})`, params, options)
  return rows.map((found) => row.parse(found))
}

/** The first row of a verb that always returns one. */
export async function runVerbOnce<T>(ledger: Ledger, name: string, params: readonly Param[], row: z.ZodType<T>, options?: QueryOptions): Promise<T> {
  const [first] = await runVerb(ledger, name, params, row, options)
  if (first === undefined) throw new Error(`pawl.${name} returned no row`)
  return first
}

/** A Postgres array literal: fetching the server's array types at connect is switched off. */
export function arrayOf(values: readonly (string | number | null)[]): string {
  return `{${values.map((v) => (v === null ? 'NULL' : typeof v === 'number' ? String(v) : `"${v.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`
}
