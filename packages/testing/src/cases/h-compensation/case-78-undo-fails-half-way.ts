/** Of four calls the undo of the third answers 500 for as long as anybody asks: what is open is said, and nothing before it is undone out of order. */
import { until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

const lasting = Array.from({ length: 200 }, () => ({ refuse: 500 }))

export async function case78(ground: CaseGround, found: Findings): Promise<void> {
  for (const n of [1, 2, 3, 4]) ground.effects.program(`half ${n}`, n === 3 ? [{}, ...lasting] : [])
  const runId = await ground.start({
    run: async ({ tools }) => {
      for (const n of [1, 2, 3, 4]) await tools.keyed({ subject: `half ${n}` })
      throw new Error('cannot')
    },
  }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
  let doubt = (await ground.client.inbox({ runId })).entries[0]
  await until('a person is asked about the undo', async () => {
    doubt = (await ground.client.inbox({ runId })).entries[0]
    return doubt !== undefined
  })
  found.is('undone while the third cannot be', ground.applied('half', 'undo'), ['half 4'])
  found.is('the run says', (await ground.client.getRun(runId)).status, 'compensating')
  found.is('what is open is', doubt?.kind === 'in_doubt' ? doubt.action.tool : doubt, 'keyed.undo')
  ground.effects.program('half 3', [])
  await until('the person says that it did not happen', async () => {
    if (doubt?.kind !== 'in_doubt') return false
    const { id, attempt, evidence } = doubt.action
    return await ground.client.settle(runId, id, { answer: 'did_not', attempt, evidence: evidence.length }).then(() => true, () => false)
  })
  await ground.runIs(runId, ['compensated'])
  found.is('undone in the end', ground.applied('half', 'undo'), ['half 4', 'half 3', 'half 2', 'half 1'])
}
