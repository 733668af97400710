/** Case 14: "not found" is not "did not happen", as long as the tool says that an effect may stay invisible. */
import { defaultTimings } from '@pawl/harness'
import { onStage, toolsByPromise, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

/** @param hiddenMs how long the lookup finds nothing; within timeout and settle window of the stage's tool. */
export async function playHiddenEffect(stage: CaseStage<CaseTool>, hiddenMs: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const subject = `hidden for ${hiddenMs}`
  stage.effects.program(subject, [{ drop: 'after', hiddenMs }])
  const begunAt = performance.now()
  const runId = await stage.start(async ({ tools }) => { await tools.lookup({ subject }) }, { policy: { maxFailures: 1 } })
  const run = await stage.workers.runIs(runId, undefined, hiddenMs * 3 + 120_000)
  const [action] = await stage.actions(runId)
  findings.figure('settledAfterMs', Math.round(performance.now() - begunAt))
  findings.is('the run', run.status, 'completed')
  findings.is('the call', [action?.status, action?.settled_by], ['committed', 'verify'])
  findings.is('receipts', stage.receipts(subject), 1)
  findings.is('effects', stage.applied(subject), 1)
  return findings.outcome()
}

/** The other way round: it really did not happen, and the declared window has passed. */
export async function playNeverArrived(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  stage.effects.program('never arrived', [{ drop: 'before' }])
  const runId = await stage.start(async ({ tools }) => { await tools.lookup({ subject: 'never arrived' }) }, { policy: { maxFailures: 1 } })
  const run = await stage.workers.runIs(runId)
  findings.is('the run', run.status, 'completed')
  findings.is('receipts', stage.receipts('never arrived'), 2)
  findings.is('effects', stage.applied('never arrived'), 1)
  return findings.outcome()
}

export const case14: LiteralCase = {
  id: 14, title: 'the lookup finds nothing for twenty seconds, then the object',
  async run({ freshDatabase }) {
    const windows = { timeoutMs: 5_000, settleWindowMs: 30_000 }
    return await onStage({ url: await freshDatabase(), timings: defaultTimings, tools: (effects) => toolsByPromise(effects, windows) }, (stage) => playHiddenEffect(stage, 20_000))
  },
}
