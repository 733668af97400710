/** Which runs are meant: the same words for lists, counts and bulk operations. */
import { isUuid, type RunStatus } from '@pawl/core'
import { and, eq, gte, inArray, lt, sql, type SQL } from 'drizzle-orm'
import { runs } from '../schema.ts'

export interface RunsWanted {
  /** Null: every namespace. */
  readonly namespace: string | null
  readonly agent?: string | undefined
  /** Any of them. */
  readonly status?: RunStatus | readonly RunStatus[] | undefined
  readonly paused?: boolean | undefined
  /** All of them must match. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The beginning of an id (4 characters at least), a label's whole value, or an idempotency key. */
  readonly search?: string | undefined
  /** From this moment on. */
  readonly createdAfter?: Date | undefined
  /** Until before this moment. */
  readonly createdBefore?: Date | undefined
}

/** What no row can hold is found in none; the server would refuse the statement. */
const isKeepable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text)

export function runsWanted(wanted: RunsWanted): SQL | undefined {
  const { namespace, agent, status, paused, labels, search, createdAfter, createdBefore } = wanted
  if (![agent ?? '', search ?? '', ...Object.entries(labels ?? {}).flat()].every(isKeepable)) return sql`false`
  return and(
    namespace === null ? undefined : eq(runs.namespace, namespace),
    agent === undefined ? undefined : eq(runs.agent, agent),
    status === undefined ? undefined : inArray(runs.status, typeof status === 'string' ? [status] : [...status]),
    paused === undefined ? undefined : eq(runs.paused, paused),
    labels === undefined ? undefined : sql`${runs.labels} @> ${JSON.stringify(labels)}::text::jsonb`,
    search === undefined ? undefined : found(search, namespace),
    createdAfter === undefined ? undefined : gte(runs.createdAt, createdAfter),
    createdBefore === undefined ? undefined : lt(runs.createdAt, createdBefore),
  )
}

/** Each way of finding has an index of its own, which an OR of the three in the statement itself would not use. */
function found(search: string, namespace: string | null): SQL {
  const range = uuidRange(search)
  const byKey = sql`select k.run_id from pawl.run_keys k where k.key = ${search} and ${namespace === null ? sql`true` : sql`k.namespace = ${namespace}`}`
  const byLabel = sql`select l.id from pawl.runs l where jsonb_path_query_array(l.labels, '$.*') @> jsonb_build_array(${search}::text)`
  const byId = range === undefined ? sql`` : sql` union all select p.id from pawl.runs p where p.id between ${range[0]}::text::uuid and ${range[1]}::text::uuid`
  return sql`${runs.id} in (${byKey} union all ${byLabel}${byId})`
}

const whole = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'

/** The first and last id that begin so. */
function uuidRange(prefix: string): [string, string] | undefined {
  if (prefix.length < 4 || prefix.length > whole.length) return undefined
  const filled = (digit: string): string => prefix + whole.slice(prefix.length).replaceAll('x', digit)
  return isUuid(filled('0')) ? [filled('0'), filled('f')] : undefined
}
