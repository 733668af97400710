/** Case 6: the deadline of a call ends the waiting, not the work. The adapter is told, nothing is sent again, and the late answer settles the call. */
import { defineTool } from '@pawl/tools'
import { z } from 'zod'
import type { EffectsServer } from '../../effects-server.ts'
import { until } from '../../virtual-workers.ts'
import { onStage, type CaseStage, type EffectTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'
import { defaultTimings } from '@pawl/harness'

/** Subjects whose adapter was told to stop. */
export type Told = Set<string>

/** Notices its signal and waits for the answer all the same, as much code does. */
export function patientTool(effects: EffectsServer, told: Told, timeoutMs: number): EffectTool {
  return defineTool({
    name: 'patient', version: '1', description: 'Waits for its answer, however late.', effect: 'non-idempotent', timeout: timeoutMs, settleWindow: 50,
    inputSchema: z.object({ subject: z.string(), note: z.string().optional() }), outputSchema: z.object({ ref: z.string() }),
    async execute({ subject }, { key, signal, guard }) {
      signal.addEventListener('abort', () => told.add(subject))
      guard()
      const response = await globalThis.fetch(`${effects.url}/opaque/do/${encodeURIComponent(subject)}`, { method: 'POST', body: '{}', headers: { 'idempotency-key': key } })
      return z.object({ ref: z.string() }).parse(await response.json())
    },
  })
}

export async function playLateAnswer(stage: CaseStage<'patient'>, told: Told, worksMs: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const subject = `late ${worksMs}`
  stage.effects.program(subject, [{ delayAfterMs: worksMs }])
  const runId = await stage.start(async ({ tools }) => ({ result: (await tools.patient({ subject })).ref }), { policy: { maxFailures: 1 } })
  const seen = new Set<string>()
  await until('the item is done', async () => {
    for (const action of await stage.actions(runId)) seen.add(action.status)
    return (await stage.item(runId)).status === 'done'
  })
  const [action] = await stage.actions(runId)
  findings.figure('effects', stage.applied(subject))
  findings.is('effects', stage.applied(subject), 1)
  findings.is('receipts', stage.receipts(subject), 1)
  findings.is('the adapter was told', told.has(subject), true)
  findings.is('was ever failed', seen.has('failed'), false)
  findings.is('the call', [action?.status, action?.settled_by], ['committed', 'evidence'])
  return findings.outcome()
}

export const case06: LiteralCase = {
  id: 6, title: 'a deadline of one second, a tool that works three and succeeds',
  async run({ freshDatabase }) {
    const told: Told = new Set()
    return await onStage({ url: await freshDatabase(), timings: defaultTimings, tools: (effects) => ({ patient: patientTool(effects, told, 1_000) }) }, (stage) => playLateAnswer(stage, told, 3_000))
  },
}
