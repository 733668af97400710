/** Case 22 with an agent whose code decides (with a model: the harness's loop-cases.test.ts): it words a call anew after a crash. What was begun is settled with its own words first; the other words are sent by nobody. */
import { newRunId } from '@pawl/core'
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export async function playReworded(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `pay ${runId}`
  const dead = stage.workers.fault({ runId, at: 'after-intent', does: 'freeze' })
  await stage.start(async ({ ctx, tools }) => { await tools.keyed({ subject, note: `memo of attempt ${ctx.attempt}` }) }, { id: runId })
  await dead.struck
  const item = await stage.blocked(runId, 'conflict')
  const [action, ...more] = await stage.actions(runId)
  findings.is('receipts', stage.receipts(subject), 1)
  findings.is('effects', stage.applied(subject), 1)
  findings.is('the call that was begun', [action?.status, JSON.parse(action?.args ?? '{}')], ['committed', { subject, note: 'memo of attempt 1' }])
  findings.is('other calls', more.length, 0)
  findings.is('the item shows both', ['recorded', 'attempted'].every((word) => item.blocked_detail?.includes(word)), true)
  return findings.outcome()
}
