/** What drives a run is killed in mid-call: the run can be cancelled at once and to the end, and another driver goes on with it, with no hand editing. */
import { seeds, until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case88(ground: CaseGround, found: Findings): Promise<void> {
  const begin = async (name: string): Promise<string> => {
    for (let n = 0; n < 3; n++) ground.effects.program(`${name} ${n}`, [{ hold: 'after' }])
    const runId = await ground.start({ run: async ({ payload, tools }) => { await tools.lookup({ subject: `${name} ${String(payload)}` }); await tools.lookup({ subject: `${name} ${String(payload)} then` }) } }, { items: seeds(3) })
    for (let n = 0; n < 3; n++) await ground.effects.received(`${name} ${n}`, 1)
    return runId
  }
  const [goesOn, cancelled] = await Promise.all([begin('goes on'), begin('cancelled')])
  ground.killAll()
  // Nobody works now. A cancel is final all the same; a resume is no error and needs no lease to pass first.
  await ground.client.cancel(cancelled)
  found.is('cancelled with no worker there', (await ground.client.getRun(cancelled)).status, 'cancelled')
  const resumed = await ground.client.resume(goesOn).then((answer) => answer.status, (error: unknown) => String(error))
  found.is('resume of a run whose driver is dead', resumed, 'running')
  for (const name of ['goes on', 'cancelled']) for (let n = 0; n < 3; n++) ground.effects.release(`${name} ${n}`)
  await ground.startWorker()
  await ground.runIs(goesOn, ['completed'])
  found.is('effects of the one that goes on', ground.applied('goes on').length, 6)
  await until('the cancelled one is quiet', async () => (await ground.rows(`select 1 from pawl.items where run_id = $1 and status in ('pending', 'in_progress', 'blocked')`, [cancelled])).length === 0)
  found.is('cancelled after the next worker came', (await ground.client.getRun(cancelled)).status, 'cancelled')
  found.is('its calls are recorded as what they were', (await ground.actions(cancelled)).map((action) => action.status), ['committed', 'committed', 'committed'])
  found.is('effects of the cancelled one', ground.applied('cancelled').length, 3)
}
