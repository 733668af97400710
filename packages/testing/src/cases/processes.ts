/** The death of virtual processes, as a supervisor sees it: what the dead held is freed at once, and others start in their place. */
import { freeLeases } from '@pawl/ledger'
import type { VirtualWorkers } from '../virtual-workers.ts'

/** Every process dies where it stands; one other takes their place. */
export async function replaceProcesses(workers: VirtualWorkers): Promise<void> {
  const dead = workers.workers.map((worker) => worker.workerId)
  workers.kill()
  for (const id of dead) await freeLeases(workers.ledger, id)
  await workers.startWorker()
}

/** The caller's own process dies, its neighbours with it; never returns. */
export async function dieAndBeReplaced(workers: VirtualWorkers): Promise<never> {
  await replaceProcesses(workers)
  return await new Promise<never>(() => {})
}
