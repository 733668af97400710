/** A rolling restart under one worker name: the old process takes nothing any more, the new one is somebody else, every call is made once. */
import { seeds, until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

/** @param ground without live workers. */
export async function case92(ground: CaseGround, found: Findings, { items, restarts }: { items: number; restarts: number }): Promise<void> {
  const draining = new Set<number>()
  const claimedWhileDraining: number[] = []
  ground.hook = (name, _, worker) => void (name === 'after-claim' && draining.has(worker) && claimedWhileDraining.push(worker))
  const earlier = ground.workers.length
  let current = await ground.startWorker({ name: 'worker-1' })
  for (let n = 0; n < items; n++) ground.effects.program(`rolling ${n}`, [{ delayAfterMs: 100 }, { delayAfterMs: 100 }])
  const runId = await ground.start({
    run: async ({ payload, tools }) => { for (const step of ['a', 'b', 'c']) await tools.opaque({ subject: `rolling ${String(payload)} ${step}` }) },
  }, { items: seeds(items) })
  for (let n = 0; n < restarts; n++) {
    const before = ground.effects.receipts().length
    await until('it is at work', () => ground.effects.receipts().length > before || ground.applied('rolling').length === 3 * items)
    const next = ground.startWorker({ name: 'worker-1' })
    const old = ground.workers.indexOf(current)
    const stopped = current.stop(5_000)
    // What it had claimed before the signal it may still begin; from here on it may not.
    draining.add(old)
    ;[current] = await Promise.all([next, stopped])
    draining.delete(old)
  }
  await ground.runIs(runId, ['completed'])
  found.is('ids under the one name', new Set(ground.workers.slice(earlier).map((worker) => worker.workerId)).size, restarts + 1)
  found.is('claims while draining', claimedWhileDraining.length, 0)
  found.is('receipts', ground.effects.receipts({ op: 'do' }).filter((receipt) => receipt.subject.startsWith('rolling')).length, 3 * items)
  found.is('subjects reached', new Set(ground.applied('rolling')).size, 3 * items)
  found.is('failures', (await ground.rows(`select 1 from pawl.items where run_id = $1 and failures > 0`, [runId])).length, 0)
}
