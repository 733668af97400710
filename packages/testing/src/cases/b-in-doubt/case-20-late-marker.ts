/** Case 20: Postgres is away exactly when the answer of a call has to be recorded. The outside world is right; the ledger catches up. */
import { newRunId } from '@pawl/core'
import { defaultTimings } from '@pawl/harness'
import { startFaultProxy, type FaultProxy } from '../../fault-proxy.ts'
import { until } from '../../virtual-workers.ts'
import { fullWindows, onStage, toolsByPromise, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

/** @param proxy what the stage's ledger is reached through. */
export async function playLateMarker(stage: CaseStage<CaseTool>, proxy: FaultProxy, awayMs: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const answered = stage.workers.fault({ runId, at: 'after-answer', does: 'freeze' })
  await stage.start(async ({ tools }) => {
    await tools.opaque({ subject: 'mail' })
    await tools.keyed({ subject: 'then' })
  }, { id: runId, policy: { maxFailures: 1 } })
  await answered.struck
  proxy.shut()
  answered.thaw()
  await new Promise((resolve) => setTimeout(resolve, awayMs))
  proxy.heal()
  const seen = new Set<string>()
  await until('the item is done', async () => {
    for (const action of await stage.actions(runId)) if (action.tool === 'opaque') seen.add(action.status)
    return (await stage.item(runId)).status === 'done'
  }, awayMs + 120_000)
  findings.is('effects', [stage.applied('mail'), stage.applied('then')], [1, 1])
  findings.is('receipts of the mail', stage.receipts('mail'), 1)
  findings.is('was ever failed', seen.has('failed'), false)
  findings.is('failures of the item', (await stage.item(runId)).failures, 0)
  return findings.outcome()
}

export const case20: LiteralCase = {
  id: 20, title: 'Postgres is away for thirty seconds at the completion',
  async run({ freshDatabase }) {
    const proxy = await startFaultProxy(await freshDatabase())
    try {
      return await onStage({ url: proxy.url, timings: defaultTimings, tools: (effects) => toolsByPromise(effects, fullWindows) }, (stage) => playLateMarker(stage, proxy, 30_000))
    } finally {
      await proxy.close()
    }
  },
}
