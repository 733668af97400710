/**
 * The one door to Postgres, on node-postgres: a pool, each statement on a connection that nobody else uses meanwhile, with a server-side timeout and
 * a client deadline. A connection whose answer did not come, or broke, is thrown away and never handed out again.
 * Several statements in one transaction go through `transaction.ts`, on a pool of their own, so that a slow one never holds a flush up.
 */
import { limits, PawlError, sha256 } from '@pawl/core'
import pg from 'pg'
import { HistoryGauge } from './history.ts'
import { isPassing, withCode } from './passing-error.ts'

export interface LedgerOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string
  /** Shows in `pg_stat_activity`. */
  readonly name?: string
  readonly connections?: number
  /** False behind a transaction-mode pooler; so is `?pgbouncer=true` in the URL. */
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
  readonly gauge = new HistoryGauge()
  #statements: pg.Pool
  #transactions: pg.Pool | undefined
  #closed = false
  /** Give up what is still under way; called some time after `close()`. */
  readonly #underWay = new Set<() => void>()
  readonly #options: LedgerOptions
  readonly #isPooled: boolean

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#isPooled = isPooled(options)
    this.host = hostOf(options.url)
    this.#statements = openPool(options)
  }

  /** One statement, one round trip. Throws the database's own error, or `LEDGER_UNREACHABLE` (next: retry) when the outcome is unknown. */
  async query<R extends Row = Row>(text: string, params: readonly Param[] = [], options: QueryOptions = {}): Promise<R[]> {
    const until = Date.now() + (options.retryForMs ?? 0)
    for (;;) {
      try {
        return await this.#once<R>(text, params)
      } catch (error) {
        if (!isPassing(error)) throw refusedByPooler(error, this.host) ?? error
        if (this.#closed || options.signal?.aborted || Date.now() >= until) throw this.#unreachable(error)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  /** The deadline covers the wait for a connection too. */
  async #once<R extends Row>(text: string, params: readonly Param[]): Promise<R[]> {
    const deadlineAt = performance.now() + (this.#options.deadlineMs ?? limits.statementDeadlineMs)
    const pool = this.#statements
    const connection = await beforeDeadline(pool.connect(), deadlineAt, this.#underWay, (late) => late.release())
    let isHealthy = false
    try {
      const sent = connection.query<R>({ text, values: [...params], ...(this.#isPooled ? {} : { name: nameOf(text) }) })
      const { rows } = await beforeDeadline(sent, deadlineAt, this.#underWay)
      isHealthy = true
      return rows
    } catch (error) {
      // The database's own error leaves the connection as it was, unless it says that the session is over.
      isHealthy = error instanceof pg.DatabaseError && !/^(57P|08)/.test(error.code ?? '')
      if (isDeadline(error)) this.#replace(pool)
      throw error
    } finally {
      connection.release(!isHealthy)
    }
  }

  /** Where one connection is silent its neighbours are, too: whoever comes next gets a new one. What is under way on the old ones ends by itself. */
  #replace(pool: pg.Pool): void {
    if (this.#closed) return
    if (pool === this.#statements) this.#statements = openPool(this.#options)
    else if (pool === this.#transactions) this.#transactions = undefined
    else return
    pool.end().catch(() => {})
  }

  #unreachable(cause: unknown): PawlError {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new PawlError('LEDGER_UNREACHABLE', `The ledger's Postgres at ${this.host} did not answer (${why}). Nothing is lost; check that it runs and that DATABASE_URL is right, then try again.`, 'retry', { host: this.host }, { cause })
  }

  /** A connection of one's own, for `transaction.ts`. The caller gives it back; one whose state is unknown is thrown away, and its neighbours with one that is silent. */
  async reserve(): Promise<{ connection: pg.PoolClient; giveBack: (state: 'healthy' | 'unknown' | 'silent') => void }> {
    const pool = (this.#transactions ??= openPool(this.#options))
    const connection = await pool.connect().catch((error: unknown) => { throw refusedByPooler(error, this.host) ?? error })
    return {
      connection,
      giveBack: (state) => {
        connection.release(state !== 'healthy')
        if (state === 'silent') this.#replace(pool)
      },
    }
  }

  /** Never rejects and never takes longer than two seconds: `end()` alone may stay pending after a lost connection. */
  async close(): Promise<void> {
    this.#closed = true
    const ended = Promise.allSettled([this.#statements.end(), this.#transactions?.end()])
    const grace = setTimeout(() => { for (const giveUp of this.#underWay) giveUp() }, 1_000)
    void ended.then(() => clearTimeout(grace))
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 2_000).unref())])
  }
}

function openPool(options: LedgerOptions): pg.Pool {
  const { url, name = 'pawl', connections = 4, statementTimeoutMs = limits.statementTimeoutMs } = options
  const pool = new pg.Pool({
    connectionString: readUrl(url), max: connections, connectionTimeoutMillis: limits.statementDeadlineMs, idleTimeoutMillis: 60_000, keepAlive: true, application_name: name,
    // A transaction-mode pooler refuses it, or lets it leak to another client.
    ...(isPooled(options) ? {} : { statement_timeout: statementTimeoutMs }),
  })
  // A connection that dies in between is an event here; who uses it hears of it from its next statement.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** `sslmode` means what it means to libpq: `require` encrypts and does not verify. */
function readUrl(url: string): string {
  try {
    const target = new URL(url)
    if (target.searchParams.has('sslmode')) target.searchParams.set('uselibpqcompat', 'true')
    return target.href
  } catch {
    return url
  }
}

const names = new Map<string, string>()
/** Prepared once per connection and text; the text's digest, so that no two texts share a name. */
function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `pawl_${sha256(text).slice(0, 24)}`
  if (names.size < mostNames) names.set(text, name)
  return name
}
const mostNames = 1_000

/** @param late gets what comes after the deadline. */
async function beforeDeadline<T>(answer: Promise<T>, deadlineAt: number, underWay: Set<() => void>, late?: (value: T) => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  let giveUp: () => void = () => {}
  const deadline = new Promise<never>((_, reject) => {
    giveUp = () => {
      isOver = true
      reject(Object.assign(new Error('no answer within the deadline'), { code: 'PAWL_DEADLINE' }))
    }
    timer = setTimeout(giveUp, Math.max(0, deadlineAt - performance.now()))
    underWay.add(giveUp)
  })
  answer.then((value) => { if (isOver) late?.(value) }, () => {})
  try {
    return await Promise.race([answer, deadline])
  } catch (error) {
    throw withCode(error)
  } finally {
    clearTimeout(timer)
    underWay.delete(giveUp)
  }
}

export const isDeadline = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 'PAWL_DEADLINE'

/** Behind a transaction-mode pooler no statement may be prepared by name, and nothing set on a connection outlives a transaction. */
function isPooled({ url, prepare }: LedgerOptions): boolean {
  return prepare === false || /[?&]pgbouncer=true(&|$)/.test(url)
}

/** What a pooler says to a client that was not told of it. */
function refusedByPooler(error: unknown, host: string): PawlError | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const isPooler = (code === '08P01' && typeof message === 'string' && message.includes('startup parameter')) || code === '26000' || code === '42P05'
  if (!isPooler) return undefined
  return new PawlError('LEDGER_POOLED', `${host} is a pooler in transaction mode (${String(message)}). Say so in DATABASE_URL with "?pgbouncer=true", or connect to Postgres itself.`, 'crash', { host }, { cause: error })
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
