/** A list shows small values only: a page of a thousand results of 10 MB each would not fit into the process that asks for it. */
import { sql, type AnyColumn, type SQL } from 'drizzle-orm'

const mostBytes = 65_536

/** The column's text, or in its place the encoded `{ $pawl: 'omitted', bytes }`; the single row's read gives the whole. */
export function shorten<T = string>(column: AnyColumn, name: string): SQL.Aliased<T> {
  return sql<T>`case when octet_length(${column}) > ${sql.raw(String(mostBytes))} then json_build_object('$pawl', 'omitted', 'bytes', octet_length(${column}))::text else ${column} end`.as(name)
}
