/** Case 24: a call that is made again is the same request; a receiver that says otherwise is believed, and a person looks at it. */
import { newRunId, NotApplied } from '@pawl/core'
import { defineTool } from '@pawl/tools'
import { z } from 'zod'
import type { EffectsServer } from '../../effects-server.ts'
import type { CaseStage, CaseTool, EffectTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

let sent = 0

/** A tool as it should not be: its code adds something of its own to each request. @param isRefusal whether it takes 422 for a proof, as it may for a first send. */
export function driftingTool(effects: EffectsServer, name: string, isRefusal: boolean): EffectTool {
  return defineTool({
    name, version: '1', description: 'Says when it was sent.', effect: 'idempotent', concurrent: true, timeout: 800, settleWindow: 50,
    inputSchema: z.object({ subject: z.string(), note: z.string().optional() }), outputSchema: z.object({ ref: z.string() }),
    async execute({ subject }, { key, fetch }) {
      const response = await fetch(`${effects.url}/keyed/do/${encodeURIComponent(subject)}`, { method: 'POST', body: JSON.stringify({ subject, sentAt: ++sent }), headers: { 'idempotency-key': key } })
      if (response.status === 422 && isRefusal) throw new NotApplied('the key came with another body')
      if (response.status !== 200) throw new Error(`${response.status} says nothing`)
      return z.object({ ref: z.string() }).parse(await response.json())
    },
  })
}

/** The caller words its request by the clock; what is sent again is what was recorded, to the letter. */
export async function playSameRequest(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `sent at ${runId}`
  stage.effects.program(subject, [{ drop: 'after' }])
  const dead = stage.workers.fault({ runId, at: 'before-settle', does: 'freeze' })
  await stage.start(async ({ ctx, tools }) => { await tools.keyed({ subject, note: await ctx.record('sent at', () => String(performance.now())) }) }, { id: runId })
  await dead.struck
  findings.is('the run', (await stage.workers.runIs(runId)).status, 'completed')
  const receipts = stage.effects.receipts({ subject })
  findings.is('receipts', receipts.length, 2)
  findings.is('bodies', new Set(receipts.map((receipt) => receipt.digest)).size, 1)
  findings.is('keys', new Set(receipts.map((receipt) => receipt.key)).size, 1)
  findings.is('effects', stage.applied(subject), 1)
  return findings.outcome()
}

export async function playKeyConflict<T extends string>(stage: CaseStage<T>, tool: T): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `${tool} ${runId}`
  stage.effects.program(subject, [{ drop: 'after' }])
  const dead = stage.workers.fault({ runId, at: 'before-settle', does: 'freeze' })
  await stage.start(async ({ tools: { [tool]: call } }) => { await call({ subject }) }, { id: runId, policy: { maxFailures: 1 } })
  await dead.struck
  await stage.blocked(runId, 'in_doubt')
  const receipts = stage.effects.receipts({ subject })
  findings.is('effects', stage.applied(subject), 1)
  findings.is('keys', new Set(receipts.map((receipt) => receipt.key)).size, 1)
  findings.is('the call', (await stage.actions(runId)).map((action) => action.status), ['in_doubt'])
  return findings.outcome()
}

/** Two operations on one object in one item have two keys. */
export async function playTwoOperations(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  const runId = newRunId()
  const subject = `invoice ${runId}`
  await stage.start(async ({ tools }) => {
    await tools.keyed({ subject })
    await tools.lookup({ subject })
  }, { id: runId })
  findings.is('the run', (await stage.workers.runIs(runId)).status, 'completed')
  findings.is('keys', new Set(stage.effects.receipts({ subject }).map((receipt) => receipt.key)).size, 2)
  findings.is('effects', stage.applied(subject), 2)
  return findings.outcome()
}
