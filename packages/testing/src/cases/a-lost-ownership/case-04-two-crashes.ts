/** Case 4: an item whose process dies twice. Deaths are no failures, and what the queue says of a job is no state of an item. */
import { onFullStage, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'
import { dieAndBeReplaced } from '../processes.ts'

export async function playTwoCrashes(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  let deaths = 0
  // One failure would already be too many.
  const runId = await stage.start(async ({ tools: { keyed } }) => {
    for (const n of [1, 2, 3]) {
      await keyed({ subject: `call ${n}` })
      if (deaths !== n - 1 || n === 3) continue
      deaths++
      await dieAndBeReplaced(stage.workers)
    }
  }, { policy: { maxFailures: 1 } })
  const run = await stage.workers.runIs(runId, undefined, stage.timings.leaseMs * 3 + 60_000)
  const item = await stage.item(runId)
  findings.figure('attempts', item.attempts)
  findings.is('deaths', deaths, 2)
  findings.is('the run', run.status, 'completed')
  findings.is('the item', [item.status, item.failures], ['done', 0])
  findings.is('effects of each call', [1, 2, 3].map((n) => stage.applied(`call ${n}`)), [1, 1, 1])
  return findings.outcome()
}

export const case04: LiteralCase = {
  id: 4, title: 'a process dies twice with one item, at default timings',
  run: async ({ freshDatabase }) => await onFullStage(await freshDatabase(), playTwoCrashes, { workers: 1 }),
}
