/** One item fails at once while its sibling is inside a long call: nothing closes and nothing is undone before that call has settled. */
import { seeds, until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case42(ground: CaseGround, found: Findings, { callMs }: { callMs: number }): Promise<void> {
  ground.effects.program('slow', [{ delayBeforeMs: callMs }])
  const runId = await ground.start({
    run: async ({ payload, tools }) => {
      if (payload === 1) return void await tools.keyed({ subject: 'slow' })
      await tools.keyed({ subject: 'quick' })
      throw new Error('cannot')
    },
  }, { items: seeds(2), policy: { maxFailures: 1, onFailure: 'compensate' } })
  await ground.effects.received('slow', 1)
  await until('the other has failed', async () => (await ground.client.getRun(runId)).tally.failed === 1)
  found.is('the run while the call is under way', (await ground.client.getRun(runId)).status, 'running')
  await until('the long call has landed', () => ground.applied('slow').length === 1, callMs + 30_000)
  await ground.runIs(runId, ['compensated'])
  const order = ground.effects.receipts().filter((receipt) => receipt.applied && ['slow', 'quick'].includes(receipt.subject)).map((receipt) => `${receipt.op} ${receipt.subject}`)
  found.is('effects', order.toSorted((a, b) => a.localeCompare(b)), ['do quick', 'do slow', 'undo quick', 'undo slow'])
  found.is('undone before the call had settled', order.slice(0, 2).filter((effect) => effect.startsWith('undo')).length, 0)
  found.is('ended', await ground.endings(runId), 1)
}
