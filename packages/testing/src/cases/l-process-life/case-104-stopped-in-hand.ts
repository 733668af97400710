/** A worker is told to stop while a call is in hand, with a grace that is long enough, and with one that is not. */
import type { CaseGround, GroundOptions } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export interface StopWindows {
  readonly callMs: number
  readonly graceMs: number
  readonly shortGraceMs: number
}

/** The call may end by itself, and whoever comes after asks about it once it has. */
export const groundFor104 = (callMs: number): GroundOptions => ({ workers: 0, windows: { timeoutMs: callMs + 500 } })

/** @param ground without workers. */
export async function case104(ground: CaseGround, found: Findings, { callMs, graceMs, shortGraceMs }: StopWindows): Promise<void> {
  for (const [name, grace] of [['long grace', graceMs], ['short grace', shortGraceMs]] as const) {
    const worker = await ground.startWorker()
    const isCutOff = grace < callMs
    ground.effects.program(name, [isCutOff ? { hold: 'before' } : { delayBeforeMs: callMs }])
    const runId = await ground.start({
      run: async ({ payload, tools, ctx }) => {
        if (payload !== null) return void await tools.opaque({ subject: `${name}: follow-up` })
        await tools.lookup({ subject: name })
        await ctx.addItems([{ key: 'follow-up', payload: 1 }])
        await tools.opaque({ subject: `${name}: after` })
      },
    })
    await ground.effects.received(name, 1)
    const told = performance.now()
    await worker.stop(grace)
    const tookMs = performance.now() - told
    found.atMost(`${name}: ms to stop`, Math.round(tookMs), Math.min(grace, callMs) + 5_000)
    found.is(`${name}: the call`, (await ground.actions(runId)).map((action) => action.status), [isCutOff ? 'started' : 'committed'])
    if (isCutOff) setTimeout(() => { ground.effects.release(name) }, callMs - tookMs)
    found.is(`${name}: sent after the signal`, ground.effects.receipts().filter((receipt) => receipt.subject.startsWith(`${name}:`)).length, 0)
    await ground.startWorker()
    await ground.runIs(runId, ['completed'], callMs + 120_000)
    found.is(`${name}: receipts`, ground.effects.receipts({ subject: name }).length, 1)
    found.is(`${name}: follow-up work in the ledger`, (await ground.rows(`select 1 from pawl.items where run_id = $1 and key = 'follow-up' and status = 'done'`, [runId])).length, 1)
    found.is(`${name}: follow-up sent`, ground.effects.receipts({ subject: `${name}: follow-up` }).length, 1)
    await ground.workers.at(-1)?.stop(1_000)
  }
}
