/** A list shows small values only: a page of a thousand results of 10 MB each would not fit into the process that asks for it. */
import { sql, type AnyColumn, type SQL } from 'drizzle-orm'

const mostBytes = sql.raw('65536')
/** What stands in place of a value takes about as much. */
const omittedBytes = sql.raw('48')

const omitted = (text: SQL): SQL => sql`json_build_object('$pawl', 'omitted', 'bytes', octet_length(${text}))::text`

/** The column's text, or in its place the encoded `{ $pawl: 'omitted', bytes }`; the single row's read gives the whole. */
export function shorten<T = string>(column: AnyColumn, name: string): SQL.Aliased<T> {
  return sql<T>`case when octet_length(${column}) > ${mostBytes} then ${omitted(sql`${column}`)} else ${column} end`.as(name)
}

/** Of an array as many entries as it has, the first 64 kB of them as they are: what is too big, and what comes after those, is left out one by one. */
export function shortenEach(column: AnyColumn, name: string): SQL.Aliased<string[]> {
  return sql<string[]>`case when cardinality(${column}) = 0 then '[]'::json else (
    select json_agg(case when octet_length(s.entry) > ${mostBytes} or s.upto > ${mostBytes} then ${omitted(sql`s.entry`)} else s.entry end order by s.n)
    from (select e.entry, e.n, sum(octet_length(e.entry)) filter (where octet_length(e.entry) <= ${mostBytes}) over (order by e.n) as upto
      from unnest(${column}) with ordinality as e (entry, n)) as s) end`.as(name)
}

/** About what `shorten` leaves of it. */
export const shownBytes = (column: AnyColumn): SQL => sql`case when octet_length(${column}) > ${mostBytes} then ${omittedBytes} else coalesce(octet_length(${column}), 0) end`

/** At most what `shortenEach` leaves of it. */
export const shownBytesOfEach = (column: AnyColumn): SQL => sql`(cardinality(${column}) * ${omittedBytes} + coalesce((
  select least(sum(octet_length(e.entry)) filter (where octet_length(e.entry) <= ${mostBytes}), ${mostBytes}) from unnest(${column}) as e (entry)), 0))`

/** What it takes whole. */
export const wholeBytes = (...columns: AnyColumn[]): SQL => sql.join(columns.map((column) => sql`coalesce(octet_length(${column}), 0)`), sql` + `)
export const wholeBytesOfEach = (column: AnyColumn): SQL => sql`coalesce((select sum(octet_length(e.entry)) from unnest(${column}) as e (entry)), 0)`
