/** Case 1: a worker stands still between intent and send until its lease is long over, another does its work, and the first wakes. */
import { newRunId } from '@pawl/core'
import { onFullStage, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

/** @param leases how often its lease goes by before it wakes. */
export async function playSlowWorker(stage: CaseStage<CaseTool>, tool: CaseTool, leases: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const pay = `pay ${runId}`
  const then = `then ${runId}`
  const frozen = stage.workers.fault({ runId, at: 'before-send', does: 'freeze' })
  await stage.start(async ({ tools: { [tool]: call, keyed } }) => {
    const paid = await call({ subject: pay })
    await keyed({ subject: then })
    return { result: paid.ref }
  }, { id: runId, policy: { maxFailures: 1, onFailure: 'compensate' } })
  const { epoch } = await frozen.struck
  await new Promise((resolve) => setTimeout(resolve, leases * stage.timings.leaseMs))
  if (tool === 'opaque') await stage.answer(runId, 'did_not')
  const run = await stage.workers.runIs(runId, undefined, 120_000)
  frozen.thaw()
  await stage.workers.quiet(runId)
  const [paid, followed] = await stage.actions(runId)
  const item = await stage.item(runId)
  findings.figure('effects', stage.applied(pay))
  findings.is('effects of pay', stage.applied(pay), 1)
  findings.is('receipts of pay', stage.receipts(pay), 1)
  findings.is('effects of what followed', stage.applied(then), 1)
  findings.is('rows of the item', [paid?.status, followed?.status], ['committed', 'committed'])
  findings.is('its send was a later holder\'s', (paid?.epoch ?? 0) > (epoch ?? 0), true)
  findings.is('the item', [item.status, item.failures], ['done', 0])
  findings.is('the run, which nothing compensated', run.status, 'completed')
  return findings.outcome()
}

export const case01: LiteralCase = {
  id: 1, title: 'a slow worker is declared dead, stands still for four lease times, and wakes',
  run: async ({ freshDatabase }) => await onFullStage(await freshDatabase(), (stage) => playSlowWorker(stage, 'keyed', 4)),
}
