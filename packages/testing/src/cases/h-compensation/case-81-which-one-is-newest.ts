/** Five calls of one millisecond, and a database clock that was set back between them: the order of undoing is the stored one, not that of any time. */
import type { CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case81(ground: CaseGround, found: Findings): Promise<void> {
  const subjects = [1, 2, 3, 4, 5].map((n) => `clock ${n}`)
  const runId = await ground.start({ run: async ({ tools }) => { await Promise.all(subjects.map((subject) => tools.keyed({ subject }))) } })
  await ground.runIs(runId, ['completed'])
  const order = (await ground.actions(runId)).map((action) => (JSON.parse(action.args) as { subject: string }).subject)
  found.is('calls', order.toSorted((a, b) => a.localeCompare(b)), subjects)
  // As after a step back of two seconds before each: later calls carry earlier times, some of them the same.
  await ground.rows(`update pawl.actions set started_at = started_at - make_interval(secs => 2 * (order_no / 2)), committed_at = committed_at - make_interval(secs => 2 * (order_no / 2)) where run_id = $1`, [runId])
  await ground.client.compensate(runId)
  await ground.runIs(runId, ['compensated'])
  found.is('undone', ground.applied('clock', 'undo'), order.toReversed())
}
