/**
 * The one door to several statements in one transaction: a reserved connection, hand-written BEGIN and COMMIT, and the outcome looked at.
 * A connection whose transaction's end is unknown is thrown away; nobody gets it again.
 */
import { limits, PawlError } from '@pawl/core'
import type pg from 'pg'
import { isDeadline, type Ledger, type Row } from './connect.ts'
import { withCode } from './passing-error.ts'

const rollbackMs = 2_000
/** BEGIN and COMMIT do no work of the caller's: a longer silence is a connection that is gone. */
const edgeMs = 5_000
/** A process that stands still, or is cut off, in the middle of its transaction holds what it locked no longer than its limit and this. */
const idleMs = 1_000

export interface Transaction {
  query<R extends Row = Row>(text: string, params?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number }>
  /** Several statements at once, without parameters. */
  script(text: string): Promise<void>
}

/** Commits when `work` resolves, rolls back when it rejects; what `work` still asks for after that is refused. Throws `COMMIT_UNKNOWN` (next: retry) when the answer to COMMIT was lost. */
export async function withTransaction<T>(ledger: Ledger, options: { timeoutMs: number }, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const { connection, giveBack } = await inTime(ledger.reserve(), limits.statementDeadlineMs + 1_000, ledger)
  let state: 'healthy' | 'unknown' | 'silent' = 'unknown'
  try {
    await inTime(connection.query(`begin; set local statement_timeout = ${Math.ceil(options.timeoutMs)}; set local idle_in_transaction_session_timeout = ${Math.ceil(options.timeoutMs) + idleMs}`), Math.min(options.timeoutMs, edgeMs), ledger)
    const life = { isOver: false }
    let result: T
    try {
      result = await work(transactionOn(connection, life, options.timeoutMs, ledger)).finally(() => { life.isOver = true })
    } catch (error) {
      // A connection that is gone rolls back by itself; what went wrong in `work` is what the caller must hear.
      const isRolledBack = !isDeadline(error) && await inTime(connection.query('rollback'), rollbackMs, ledger).then(() => true, () => false)
      state = isRolledBack ? 'healthy' : isDeadline(error) ? 'silent' : 'unknown'
      throw error
    }
    await commit(connection, ledger)
    state = 'healthy'
    return result
  } catch (error) {
    if (isDeadline(error) || isDeadline((error as { cause?: unknown } | null)?.cause)) state = 'silent'
    throw error
  } finally {
    giveBack(state)
  }
}

async function commit(connection: pg.PoolClient, ledger: Ledger): Promise<void> {
  let answer: pg.QueryResult
  try {
    answer = await inTime(connection.query('commit'), edgeMs, ledger)
  } catch (error) {
    throw new PawlError('COMMIT_UNKNOWN', `The answer to a COMMIT at ${ledger.host} was lost; the row it wrote is read again to find out.`, 'retry', {}, { cause: error })
  }
  // A transaction that failed inside answers COMMIT with ROLLBACK and no error.
  if (answer.command !== 'COMMIT') throw new PawlError('ROLLED_BACK', 'A statement of the transaction failed and its error was swallowed; nothing was committed.', 'fail')
}

/** After its end the connection is somebody else's, and what runs on it commits by itself. */
function transactionOn(connection: pg.PoolClient, life: { readonly isOver: boolean }, timeoutMs: number, ledger: Ledger): Transaction {
  const assertOpen = (): void => {
    if (life.isOver) throw new PawlError('TRANSACTION_OVER', 'The transaction is over (committed, or rolled back at a deadline); this statement was not run. Await every query inside the call.', 'fail')
  }
  return {
    async query<R extends Row>(text: string, params: readonly unknown[] = []) {
      assertOpen()
      const answer = await inTime(connection.query<R>(text, [...params]), timeoutMs + 1_000, ledger)
      return { rows: answer.rows, rowCount: answer.rowCount ?? answer.rows.length }
    },
    async script(text) {
      assertOpen()
      await inTime(connection.query(text), timeoutMs + 1_000, ledger)
    },
  }
}

/** Bounded by the deadline; a connection that broke is told by its code, which node-postgres leaves out. */
async function inTime<T>(answer: PromiseLike<T>, deadlineMs: number, ledger: Ledger): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(`Postgres at ${ledger.host} gave no answer within ${deadlineMs} ms`), { code: 'PAWL_DEADLINE' })), deadlineMs)
  })
  try {
    return await Promise.race([answer, deadline])
  } catch (error) {
    throw withCode(error)
  } finally {
    clearTimeout(timer)
  }
}
