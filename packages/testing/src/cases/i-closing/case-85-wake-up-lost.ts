/** The ledger is away exactly when a run is to be closed: it closes as soon as the ledger is back. */
import { startFaultProxy, type FaultProxy } from '../../fault-proxy.ts'
import { CaseGround, seeds, type GroundOptions } from '../case-ground.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, CaseServices } from '../literal-case.ts'

/** @param door between the workers and the ledger. */
export async function case85(ground: CaseGround, found: Findings, { door, awayMs }: { door: Pick<FaultProxy, 'shut' | 'heal'>; awayMs: number }): Promise<void> {
  // Once when the last item ends, once when the run is to be ended.
  for (const last of ['work', 'finalize'] as const) {
    let isAway = false
    let finalized = 0
    let backAt = 0
    ground.hook = async (name, { seq }) => {
      if (isAway || name !== 'before-finish' || seq !== (last === 'work' ? 3 : 4)) return
      isAway = true
      door.shut()
      setTimeout(() => { backAt = performance.now(); door.heal() }, awayMs)
    }
    const runId = await ground.start({
      run: async ({ payload, tools }) => { await tools.opaque({ subject: `${last} ${String(payload)}` }) },
      finalize: () => { finalized++; return Promise.resolve() },
    }, { items: seeds(3), policy: { maxConcurrency: 1 } })
    await ground.runIs(runId, ['completed'])
    found.is(`${last}: was away`, isAway, true)
    found.atMost(`${last}: ms from the ledger's return to the close`, Math.round(performance.now() - backAt), 10_000)
    found.is(`${last}: endings`, await ground.endings(runId), 1)
    found.atLeast(`${last}: finalizer ran`, finalized, 1)
    found.is(`${last}: sent`, ground.effects.receipts({ op: 'do' }).filter((receipt) => receipt.subject.startsWith(last)).length, 3)
  }
}

/** A ground whose workers reach ledger and queue through a door. */
export async function behindDoor(services: CaseServices, options: GroundOptions = {}): Promise<{ ground: CaseGround; door: FaultProxy; close(): Promise<void> }> {
  const url = await services.freshDatabase()
  const door = await startFaultProxy(url)
  const ground = await CaseGround.open(url, { ...options, workersUrl: door.url })
  return { ground, door, close: async () => { await ground.close(); await door.close() } }
}

export async function literal85(services: CaseServices, awayMs: number): Promise<CaseOutcome> {
  const place = await behindDoor(services)
  const found = new Findings()
  try {
    await case85(place.ground, found, { door: place.door, awayMs })
  } finally {
    await place.close()
  }
  return found.outcome()
}
