/**
 * The whole invariant checker: what the ledger answers by itself, and, given what receivers logged, what only they know.
 * A figure of "0 duplicates" is worth something only beside receipts, which are counted here and never deduplicated.
 */
import { auditLedger, findViolation, oracleInvariants, type AuditReport, type Ledger } from '@pawl/ledger'

/** One receipt, as a receiver that shares no code with the product wrote it. */
export interface EffectLogEntry {
  /** The idempotency key it was sent under. */
  readonly key: string
  readonly argsDigest?: string
  readonly epoch?: number
  /** Which send of the call it was, as the tool's `attempt` says; the first where not given. */
  readonly attempt?: number
  /** False: received, and not carried out. */
  readonly applied: boolean
  readonly at: Date
  readonly tool: string
}

export interface AuditOptions {
  readonly runId?: string
  /** Everything receivers saw of the audited runs, and of no other. */
  readonly effects?: readonly EffectLogEntry[]
  /** The tools whose receivers kept the log; those that occur in it, where not given. */
  readonly tools?: readonly string[]
}

export async function audit(ledger: Ledger, options: AuditOptions = {}): Promise<AuditReport> {
  const { runId, effects } = options
  const report = await auditLedger(ledger, runId === undefined ? {} : { runId })
  if (effects === undefined) return report
  const seen = JSON.stringify(effects.map((entry) => ({ ...entry, at: entry.at.getTime() })))
  const tools = JSON.stringify(options.tools ?? [...new Set(effects.map((entry) => entry.tool))])
  const violations = [...report.violations]
  for (const one of oracleInvariants) {
    const found = await findViolation(ledger, { ...one, sql: usingAll(one.sql) }, [runId ?? null, seen, tools])
    if (found) violations.push(found)
  }
  return { checked: report.checked + oracleInvariants.length, needingOracle: 0, violations }
}

/** Postgres wants every parameter it is given to be used. */
const usingAll = (sql: string): string => `select v.* from (${sql}) v where $1::text is not distinct from $1::text and $2::text is not null and $3::text is not null`
