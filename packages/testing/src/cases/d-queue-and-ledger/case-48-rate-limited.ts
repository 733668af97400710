/** A provider that says "too many requests" many more times than there are attempts. */
import type { CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case48(ground: CaseGround, found: Findings, { refusals, retryAfterSeconds }: { refusals: number; retryAfterSeconds: number }): Promise<void> {
  ground.effects.program('limited', Array.from({ length: refusals }, () => ({ refuse: 429, retryAfterSeconds })))
  const runId = await ground.start({ run: async ({ tools }) => { await tools.opaque({ subject: 'limited' }) } }, { policy: { maxFailures: 3 } })
  await ground.runIs(runId, ['completed', 'failed'], refusals * (retryAfterSeconds + 5) * 1_000)
  found.is('run', (await ground.client.getRun(runId)).status, 'completed')
  found.is('receipts', ground.effects.receipts({ subject: 'limited' }).length, refusals + 1)
  found.is('effects', ground.effects.effects({ subject: 'limited' }), 1)
  const [item] = await ground.rows<{ failures: number; barren_attempts: number }>('select failures, barren_attempts from pawl.items where run_id = $1 and seq = 1', [runId])
  found.is('failures spent', item?.failures, 0)
  found.atMost('crash budget spent', item?.barren_attempts ?? -1, 1)
}
