/** Runs every invariant the ledger can answer by itself; what only receivers know is counted as needing the oracle, never as checked. */
import type { Ledger } from '../connect.ts'
import { invariants, type Invariant } from './invariants.ts'
import { oracleInvariants } from './oracle.ts'

export interface AuditViolation {
  readonly invariant: number
  readonly name: string
  readonly sentence: string
  /** The first twenty. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

export interface AuditReport {
  readonly checked: number
  readonly needingOracle: number
  readonly violations: readonly AuditViolation[]
}

/** Of one run, or of the whole ledger. Reads only; each statement has a snapshot of its own, so audit a ledger that is quiet. */
export async function auditLedger(ledger: Ledger, options: { runId?: string } = {}): Promise<AuditReport> {
  const violations: AuditViolation[] = []
  for (const one of invariants) {
    const found = await findViolation(ledger, one, [options.runId ?? null])
    if (found) violations.push(found)
  }
  return { checked: invariants.length, needingOracle: oracleInvariants.length, violations }
}

/** One invariant; `undefined` when it holds. */
export async function findViolation(ledger: Ledger, { invariant, name, sentence, sql }: Invariant, params: readonly (string | null)[]): Promise<AuditViolation | undefined> {
  const rows = await ledger.query(`select * from (${sql}) violations limit 20`, params, { retryForMs: 10_000 })
  return rows.length === 0 ? undefined : { invariant, name, sentence, rows }
}
