import { auditLedger, checkSchema } from '@pawl/ledger'
import type { Command } from 'commander'
import colors from 'picocolors'
import { isUuid, PawlError } from '@pawl/core'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addDatabaseOptions, openLedger, type DatabaseOptions } from '../cli/place.ts'
import { many, short } from '../cli/plain.ts'

/** `pawl audit [run]`: what must hold of a ledger at rest. JSON: `AuditReport`. Exit 1 on violations. */
export function addAudit(parent: Command): void {
  addLeaf<DatabaseOptions>(parent, {
    usage: 'audit [run]', about: 'check what must hold of the ledger, of one run or of all (best while nothing runs)', options: addDatabaseOptions,
    async run({ args, options, out }) {
      const [runId] = args
      const ledger = await openLedger(options, out)
      try {
        await checkSchema(ledger)
        if (runId !== undefined) await requireRun(runId, async (id) => (await ledger.query('select 1 as one from pawl.runs where id = $1', [id])).length > 0)
        const report = await auditLedger(ledger, runId === undefined ? {} : { runId })
        out.emit(report)
        const { checked, needingOracle, violations } = report
        out.line(`${many(violations.length, 'violation')} (${checked} invariants checked, ${needingOracle} need the oracle: a record of what the receivers saw)`)
        for (const violation of violations) {
          out.line(`\n${colors.red(violation.name)} (invariant ${violation.invariant}): ${violation.sentence}`)
          for (const row of violation.rows) out.line(`  ${short(row, 300)}`)
        }
        return violations.length === 0 ? exitOf.ok : exitOf.failed
      } finally {
        await ledger.close()
      }
    },
  })
}

async function requireRun(runId: string, isThere: (id: string) => Promise<boolean>): Promise<void> {
  if (!isUuid(runId) || !(await isThere(runId))) throw new PawlError('NOT_FOUND', `There is no run ${JSON.stringify(runId.slice(0, 64))}. "pawl run list" shows the ids; without one, the whole ledger is audited.`)
}
