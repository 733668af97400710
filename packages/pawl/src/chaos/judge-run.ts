/** The verdict over one run whose workers were killed: the ledger's own audit, and, where there are receipts, what the receiving side did twice or never. */
import { auditLedger, type Ledger } from '@pawl/ledger'
import type { ReceiverLine } from './receipts.ts'

export interface RunVerdict {
  readonly items: number
  /** Attempts beyond the first: items that somebody had to take up again. */
  readonly takeovers: number
  /** Calls a person was, or still is, asked about. */
  readonly doubts: number
  readonly violations: number
  /** Effects beyond the first, by operation and subject. Null: there were no receipts. */
  readonly duplicates: number | null
  /** Committed writes without a receipt under their key. Null: there were no receipts with keys. */
  readonly lost: number | null
  readonly problems: readonly string[]
}

interface Committed extends Record<string, unknown> {
  readonly tool: string
  readonly key: string
}

export async function judgeRun(ledger: Ledger, runId: string, receipts: readonly ReceiverLine[] | undefined): Promise<RunVerdict> {
  const report = await auditLedger(ledger, { runId })
  const broken = report.violations.flatMap((one) => one.rows.map((row) => `${one.name}: ${one.sentence} ${JSON.stringify(row)}`))
  const [counts] = await ledger.query<{ items: number; takeovers: number; doubts: number }>(`select
    (select count(*) from pawl.items where run_id = $1 and kind = 'work')::integer as items, (select coalesce(sum(greatest(attempts - 1, 0)), 0) from pawl.items where run_id = $1)::integer as takeovers,
    ((select count(*) from pawl.events where run_id = $1 and kind = 'action.answered') + (select count(*) from pawl.actions where run_id = $1 and status = 'in_doubt'))::integer as doubts`, [runId])
  const twice = receipts === undefined ? [] : findTwice(receipts)
  const lost = receipts === undefined || !receipts.some((line) => line.key !== undefined) ? undefined : await findLost(ledger, runId, receipts)
  return {
    items: counts?.items ?? 0, takeovers: counts?.takeovers ?? 0, doubts: counts?.doubts ?? 0, violations: broken.length,
    duplicates: receipts === undefined ? null : twice.reduce((sum, { times }) => sum + times - 1, 0), lost: lost?.length ?? null,
    problems: [
      ...twice.map(({ line, times }) => `${line.operation} ${line.subject} was done ${times} times. Audit the tool with auditTool, and its agent with crashEverywhere, both from pawl/testing.`),
      ...(lost ?? []).map(({ tool, key }) => `${tool} is committed under key ${key}, and no receipt has that key.`), ...broken,
    ],
  }
}

function findTwice(receipts: readonly ReceiverLine[]): { line: ReceiverLine; times: number }[] {
  const done = new Map<string, { line: ReceiverLine; times: number }>()
  for (const line of receipts) {
    const name = JSON.stringify([line.operation, line.subject])
    const known = done.get(name)
    if (known) known.times++
    else done.set(name, { line, times: 1 })
  }
  return [...done.values()].filter(({ times }) => times > 1)
}

/** Of the tools whose receivers keep receipts under their name; others are nobody's loss. */
async function findLost(ledger: Ledger, runId: string, receipts: readonly ReceiverLine[]): Promise<Committed[]> {
  const kept = new Set(receipts.map((line) => line.operation))
  const keys = new Set(receipts.map((line) => line.key))
  const committed = await ledger.query<Committed>(`select tool, key from pawl.actions where run_id = $1 and status = 'committed' and effect in ('idempotent', 'non-idempotent')`, [runId])
  return committed.filter(({ tool, key }) => kept.has(tool) && !keys.has(key))
}
