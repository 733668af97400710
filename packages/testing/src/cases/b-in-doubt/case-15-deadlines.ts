/** Case 15: leases whose end is missing, zero or never. Age permits no second send; and no value of a deadline makes an item be forgotten. */
import { newRunId } from '@pawl/core'
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export const oddDeadlines = { 'no end': 'null', 'an end of zero': `timestamptz 'epoch'`, 'an end before all time': `'-infinity'`, 'an end that never comes': `'infinity'` } as const

/** @param end the lease's end, as SQL. */
export async function playOddDeadline(stage: CaseStage<CaseTool>, tool: 'keyed' | 'opaque', end: string): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `${tool} ${runId}`
  const dead = stage.workers.fault({ runId, at: 'after-intent', does: 'freeze' })
  await stage.start(async ({ tools: { [tool]: call } }) => { await call({ subject }) }, { id: runId, policy: { maxFailures: 1 } })
  await dead.struck
  await stage.rows(`update pawl.items set lease_until = ${end} where run_id = $1 and seq = 1`, [runId])
  if (tool === 'opaque') {
    await stage.blocked(runId, 'in_doubt')
    findings.is('receipts while nobody has answered', stage.receipts(subject), 0)
    await stage.rows(`update pawl.actions set started_at = started_at - interval '400 days', answerable_at = answerable_at - interval '400 days' where run_id = $1`, [runId])
    stage.workers.touch(runId)
    await stage.answer(runId, 'did_not')
  }
  const run = await stage.workers.runIs(runId)
  findings.is('the run', run.status, 'completed')
  findings.is('receipts', stage.receipts(subject), 1)
  findings.is('attempts', (await stage.item(runId)).attempts > 1, true)
  return findings.outcome()
}
