/**
 * The one door to several statements in one transaction: a reserved connection, hand-written BEGIN and COMMIT, and the outcome looked at.
 * A transaction whose end is unknown throws its client away; nobody gets that connection again.
 */
import { limits, PawlError } from '@pawl/core'
import type postgres from 'postgres'
import type { Ledger, Param, Row } from './connect.ts'

const rollbackMs = 2_000

export interface Transaction {
  query<R extends Row = Row>(text: string, params?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number }>
  /** Several statements at once, without parameters. */
  script(text: string): Promise<void>
}

/** Commits when `work` resolves, rolls back when it rejects. Throws `COMMIT_UNKNOWN` (next: retry) when the answer to COMMIT was lost. */
export async function withTransaction<T>(ledger: Ledger, options: { timeoutMs: number }, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const connection = await reserveInTime(ledger)
  let healthy = false
  try {
    await inTime(connection.unsafe(`begin; set local statement_timeout = ${Math.ceil(options.timeoutMs)}`), options.timeoutMs, ledger)
    let result: T
    try {
      result = await work(transactionOn(connection, options.timeoutMs, ledger))
    } catch (error) {
      // A connection that is gone rolls back by itself; what went wrong in `work` is what the caller must hear.
      healthy = await inTime(connection.unsafe('rollback'), rollbackMs, ledger).then(() => true, () => false)
      throw error
    }
    await commit(connection, ledger)
    healthy = true
    return result
  } finally {
    if (healthy) connection.release()
    else ledger.discard()
  }
}

/** A reservation that comes too late for its caller goes back at once, or the client would be one connection short for ever. */
async function reserveInTime(ledger: Ledger): Promise<postgres.ReservedSql> {
  const reserving = ledger.reserve()
  try {
    return await inTime(reserving, limits.statementDeadlineMs, ledger)
  } catch (error) {
    reserving.then((late) => late.release(), () => {})
    throw error
  }
}

async function commit(connection: postgres.ReservedSql, ledger: Ledger): Promise<void> {
  let answer: { command?: string }
  try {
    answer = await inTime(connection.unsafe('commit'), limits.statementDeadlineMs, ledger)
  } catch (error) {
    throw new PawlError('COMMIT_UNKNOWN', `The answer to a COMMIT at ${ledger.host} was lost; the row it wrote is read again to find out.`, 'retry', {}, { cause: error })
  }
  // A transaction that failed inside answers COMMIT with ROLLBACK and no error.
  if (answer.command !== 'COMMIT') throw new PawlError('ROLLED_BACK', 'A statement of the transaction failed and its error was swallowed; nothing was committed.', 'fail')
}

function transactionOn(connection: postgres.ReservedSql, timeoutMs: number, ledger: Ledger): Transaction {
  return {
    async query<R extends Row>(text: string, params: readonly unknown[] = []) {
      const rows = await inTime(connection.unsafe<R[]>(text, params as Param[]), timeoutMs + 1_000, ledger)
      return { rows: [...rows], rowCount: rows.count ?? rows.length }
    },
    async script(text) {
      await inTime(connection.unsafe(text).simple(), timeoutMs + 1_000, ledger)
    },
  }
}

async function inTime<T>(answer: PromiseLike<T>, deadlineMs: number, ledger: Ledger): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(`Postgres at ${ledger.host} gave no answer within ${deadlineMs} ms`), { code: 'PAWL_DEADLINE' })), deadlineMs)
  })
  try {
    return await Promise.race([answer, deadline])
  } finally {
    clearTimeout(timer)
  }
}
