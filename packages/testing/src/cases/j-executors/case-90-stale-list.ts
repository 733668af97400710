/** Five recoverers are told of the same hundred unsettled calls, and all stand between being told and the claim: one of them gets each. */
import { seeds, until, type CaseGround, type GroundOptions } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export const groundFor90 = (calls: number): GroundOptions => ({ workers: 1, concurrency: calls, windows: { timeoutMs: 20_000 } })

export async function case90(ground: CaseGround, found: Findings, { calls, recoverers }: { calls: number; recoverers: number }): Promise<void> {
  for (let n = 0; n < calls; n++) ground.effects.program(`stale ${n}`, [{ hold: 'after' }])
  const runId = await ground.start({ run: async ({ payload, tools }) => { await tools.keyed({ subject: `stale ${String(payload)}` }) } }, { items: seeds(calls) })
  await until('every call is under way', () => ground.applied('stale').length === calls)
  ground.killAll()
  let waiting = 0
  let open: () => void = () => {}
  const gate = new Promise<void>((resolve) => { open = resolve })
  ground.hook = async (name) => {
    if (name !== 'before-claim') return
    waiting++
    await gate
  }
  const fresh = await Promise.all(Array.from({ length: recoverers }, () => ground.startWorker()))
  await ground.rows(`update pawl.items set lease_until = clock_timestamp() where run_id = $1 and status = 'in_progress'`, [runId])
  await until('each is rung for anew', async () => (await ground.rows('select 1 from pawl.items where run_id = $1 and generation = 2', [runId])).length === calls)
  const verdicts = fresh.flatMap((worker) => Array.from({ length: calls }, (_, i) => worker.handle({ ledgerId: ground.ledgerId, runId, seq: i + 1, generation: 2 })))
  await until('all stand before their claims', () => waiting >= calls * recoverers)
  for (let n = 0; n < calls; n++) ground.effects.release(`stale ${n}`)
  open()
  const settled = await Promise.all(verdicts)
  await ground.runIs(runId, ['completed'])
  found.atLeast('told, and refused their claim', settled.filter((verdict) => verdict === 'leased' || verdict === 'closed').length, calls * (recoverers - 1))
  found.is('effects', ground.applied('stale').length, calls)
  found.is('settlements', (await ground.rows(`select 1 from pawl.actions where run_id = $1 and status = 'committed'`, [runId])).length, calls)
  // On a machine that is behind, a lease may end and its item be claimed anew: that is no second claim of one list.
  found.figure('claimed anew after a lease had ended', (await ground.rows(`select 1 from pawl.items where run_id = $1 and kind = 'work' and attempts > 2`, [runId])).length)
}
