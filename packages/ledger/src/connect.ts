/**
 * The one door to Postgres. Single statements only, each with a server-side timeout and a client deadline;
 * a client whose deadline was missed is thrown away, since postgres.js may keep handing out its dead connection.
 * Several statements in one transaction go through `transaction.ts`, never through `sql.begin`, which can hand
 * a dead connection's open transaction to somebody else, nor through postgres.js's `reserve()`, which ends the whole process
 * (`socket` is null in a timer of its own) when a statement meets a connection that died: that door is node-postgres's.
 */
import { limits, PawlError } from '@pawl/core'
import pg from 'pg'
import postgres from 'postgres'
import { isPassing } from './passing-error.ts'

export interface LedgerOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string
  /** Shows in `pg_stat_activity`. */
  readonly name?: string
  readonly connections?: number
  /** False behind a transaction-mode pooler. */
  readonly prepare?: boolean
  readonly statementTimeoutMs?: number
  readonly deadlineMs?: number
}

export type Row = Record<string, unknown>
/** Values as the wire takes them; structured ones go as JSON text. */
export type Param = string | number | boolean | null

export interface QueryOptions {
  /** The statement may be written again after a lost answer (its verb carries a token, nonce or fence): tried until this much time has passed. */
  readonly retryForMs?: number
  readonly signal?: AbortSignal
}

export class Ledger {
  readonly host: string
  #client: postgres.Sql
  /** Reserved connections come from a pool of their own, so that throwing one away never breaks a flush. */
  #transactions: pg.Pool | undefined
  #closed = false
  readonly #options: LedgerOptions

  constructor(options: LedgerOptions) {
    this.#options = options
    this.host = hostOf(options.url)
    this.#client = this.#open()
  }

  #open(): postgres.Sql {
    const { url, name = 'pawl', connections = 4, prepare = true, statementTimeoutMs = limits.statementTimeoutMs } = this.#options
    return postgres(url, {
      max: connections,
      prepare,
      fetch_types: false,
      backoff: () => 0.1,
      connect_timeout: 5,
      onnotice: () => {},
      // JSON parameters arrive here as text already; the driver's own serializer would encode them a second time.
      types: { json: { to: 114, from: [114, 3802], serialize: (text: string) => text, parse: (text: string) => JSON.parse(text) as unknown } },
      connection: { application_name: name, statement_timeout: statementTimeoutMs },
    })
  }

  /** One statement, one round trip. Throws the database's own error, or `LEDGER_UNREACHABLE` (next: retry) when the outcome is unknown. */
  async query<R extends Row = Row>(text: string, params: readonly Param[] = [], options: QueryOptions = {}): Promise<R[]> {
    const until = Date.now() + (options.retryForMs ?? 0)
    for (;;) {
      try {
        return await this.#once<R>(text, params)
      } catch (error) {
        if (!isPassing(error)) throw error
        if (this.#closed || options.signal?.aborted || Date.now() >= until) throw this.#unreachable(error)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  async #once<R extends Row>(text: string, params: readonly Param[]): Promise<R[]> {
    const client = this.#client
    let timer: NodeJS.Timeout | undefined
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#replace(client)
        reject(Object.assign(new Error('no answer within the deadline'), { code: 'PAWL_DEADLINE' }))
      }, this.#options.deadlineMs ?? limits.statementDeadlineMs)
    })
    try {
      const answer = client.unsafe<R[]>(text, params as Param[], { prepare: this.#options.prepare ?? true })
      return [...(await Promise.race([answer, deadline]))]
    } finally {
      clearTimeout(timer)
    }
  }

  #replace(client: postgres.Sql): void {
    if (this.#client !== client || this.#closed) return
    this.#client = this.#open()
    client.end({ timeout: 0 }).catch(() => {})
  }

  #unreachable(cause: unknown): PawlError {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new PawlError('LEDGER_UNREACHABLE', `The ledger's Postgres at ${this.host} did not answer (${why}). Nothing is lost; check that it runs and that DATABASE_URL is right, then try again.`, 'retry', { host: this.host }, { cause })
  }

  /** A connection of one's own, for `transaction.ts`. The caller releases it, with `true` when its state is unknown. */
  async reserve(): Promise<pg.PoolClient> {
    this.#transactions ??= openPool(this.#options)
    return await this.#transactions.connect()
  }

  /** Never rejects and never takes longer than two seconds: `end()` alone may stay pending after a lost connection. */
  async close(): Promise<void> {
    this.#closed = true
    const ended = Promise.allSettled([this.#client.end({ timeout: 1 }), this.#transactions?.end()])
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 2_000).unref())])
  }
}

function openPool({ url, name = 'pawl', connections = 4, statementTimeoutMs = limits.statementTimeoutMs }: LedgerOptions): pg.Pool {
  const target = new URL(url)
  // `sslmode` means what it means to libpq and to the other driver: `require` encrypts and does not verify.
  if (target.searchParams.has('sslmode')) target.searchParams.set('uselibpqcompat', 'true')
  const pool = new pg.Pool({
    connectionString: target.href, max: connections, connectionTimeoutMillis: limits.statementDeadlineMs, application_name: name, statement_timeout: statementTimeoutMs,
  })
  // A connection that dies in between is an event here; who uses it hears of it from its next statement.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Host and port of a connection URL: what an error may show. */
export function hostOf(url: string): string {
  try {
    const parsed = new URL(url)
    return parsed.host || parsed.searchParams.get('host') || 'localhost'
  } catch {
    return 'an address that is not a URL'
  }
}
