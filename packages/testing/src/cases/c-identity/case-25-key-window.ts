/** Case 25: the receiver forgets keys after a day. Time is moved by making what the ledger has about the call older; nothing else of it knows the time. */
import { newRunId } from '@pawl/core'
import type { EffectsServer } from '../../effects-server.ts'
import { effectTool, verifyAt, type CaseStage, type EffectTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export type DayTool = 'forgets' | 'forgetsButTells'

export function dayTools(effects: EffectsServer): Record<DayTool, EffectTool> {
  const common = { via: 'keyed', effect: 'idempotent', concurrent: true, keyWindow: '24h', timeout: 800, settleWindow: 100 } as const
  return { forgets: effectTool(effects, { ...common, name: 'forgets' }), forgetsButTells: effectTool(effects, { ...common, name: 'forgets-but-tells', verify: verifyAt(effects) }) }
}

/** @param hours how long after the send, whose answer was lost, the run is resumed. */
export async function playKeyWindow(stage: CaseStage<DayTool>, tool: DayTool, hours: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `${tool} after ${hours} h`
  const isForgotten = hours >= 24
  stage.effects.program(subject, [{ drop: 'after' }, { forget: isForgotten }])
  const dead = stage.workers.fault({ runId, at: 'before-settle', does: 'freeze' })
  await stage.start(async ({ tools: { [tool]: call } }) => { await call({ subject }) }, { id: runId, policy: { maxFailures: 1 } })
  await dead.struck
  await stage.rows(`update pawl.actions set started_at = started_at - make_interval(hours => $2), key_expires_at = key_expires_at - make_interval(hours => $2) where run_id = $1`, [runId, hours])
  if (isForgotten && tool === 'forgets') {
    await stage.blocked(runId, 'in_doubt')
    findings.is('the call', (await stage.actions(runId)).map((action) => action.status), ['in_doubt'])
  } else {
    findings.is('the run', (await stage.workers.runIs(runId)).status, 'completed')
    findings.is('settled by', (await stage.actions(runId))[0]?.settled_by, isForgotten ? 'verify' : 'recall')
  }
  findings.is('receipts', stage.receipts(subject), isForgotten ? 1 : 2)
  findings.is('effects', stage.applied(subject), 1)
  findings.is('keys', new Set(stage.effects.receipts({ subject }).map((receipt) => receipt.key)).size, 1)
  return findings.outcome()
}
