/** A run is cancelled while a call is in flight that succeeds much later: cancelled stays cancelled, and the record tells the truth about the outside. */
import { until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case86(ground: CaseGround, found: Findings, { landsAfterMs }: { landsAfterMs: number }): Promise<void> {
  ground.effects.program('in flight', [{ delayBeforeMs: landsAfterMs }])
  const runId = await ground.start({ run: async ({ tools }) => { await tools.opaque({ subject: 'in flight' }); await tools.opaque({ subject: 'after the cancel' }) } })
  await ground.effects.received('in flight', 1)
  const answer = await ground.client.cancel(runId)
  found.is('said to be found out', 'unsettled' in answer ? answer.unsettled : undefined, 1)
  await until('the call is recorded', async () => (await ground.actions(runId))[0]?.status === 'committed', landsAfterMs + 30_000)
  await until('nothing is live', async () => (await ground.rows(`select 1 from pawl.items where run_id = $1 and status in ('pending', 'in_progress', 'blocked')`, [runId])).length === 0)
  found.is('run', (await ground.client.getRun(runId)).status, 'cancelled')
  found.is('sent after the cancel', ground.effects.receipts({ subject: 'after the cancel' }).length, 0)
  const offered = await ground.client.compensate(runId, { dryRun: true })
  found.is('offered for compensation', 'undone' in offered ? offered.undone.map((undo) => undo.tool) : offered, ['opaque'])
  await ground.client.compensate(runId)
  await ground.runIs(runId, ['compensated'])
  found.is('undone', ground.applied('in flight', 'undo'), ['in flight'])
}
