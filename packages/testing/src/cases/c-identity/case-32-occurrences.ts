/** Case 32: parallel calls whose tool states no meaning are told apart by their order. Where the order changes on replay, no result is swapped: the item stops and nothing is sent. */
import { newRunId } from '@pawl/core'
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export async function playReversedOrder(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const invoices = [1, 2, 3].map((n) => `invoice ${n} of ${runId}`)
  const given: string[][] = []
  const dead = stage.workers.fault({ runId, at: 'before-finish', seq: 1, does: 'freeze' })
  await stage.start(async ({ ctx, tools }) => {
    const order = ctx.attempt === 1 ? invoices : invoices.toReversed()
    given.push((await Promise.all(order.map((subject) => tools.opaque({ subject })))).map(({ ref }) => ref))
  }, { id: runId })
  await dead.struck
  const item = await stage.blocked(runId, 'conflict')
  findings.is('receipts of each', invoices.map((subject) => stage.receipts(subject)), [1, 1, 1])
  findings.is('results given to the replay', given.length, 1)
  findings.is('the item shows both', ['recorded', 'attempted'].every((word) => item.blocked_detail?.includes(word)), true)
  return findings.outcome()
}
