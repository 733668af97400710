/** Case 17, as far as there are people to wait for: of three parallel calls one waits for an answer, every process is replaced meanwhile, and no sibling runs again. */
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'
import { replaceProcesses } from '../processes.ts'

export async function playWaitingSibling(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  stage.effects.program('b', [{ drop: 'after' }])
  const runId = await stage.start(async ({ tools: { opaque } }) => {
    const refs = await Promise.all(['a', 'b', 'c'].map((subject) => opaque({ subject })))
    return { result: refs.map(({ ref }) => ref) }
  })
  await stage.blocked(runId, 'in_doubt')
  await replaceProcesses(stage.workers)
  await stage.answer(runId, 'happened', '{"ref":"said by a person"}')
  const run = await stage.workers.runIs(runId)
  findings.is('the run', run.status, 'completed')
  findings.is('receipts of each', ['a', 'b', 'c'].map((subject) => stage.receipts(subject)), [1, 1, 1])
  findings.is('what the agent was given for b', (JSON.parse((await stage.item(runId)).result ?? '[]') as unknown[])[1], 'said by a person')
  return findings.outcome()
}
