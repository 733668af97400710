/** Case 10: how soon the work of a dead worker, or of a database that stopped in the middle of it, goes on; and that nothing of it is forgotten. */
import { limits } from '@pawl/core'
import { CrashServer } from '../../database/crash-server.ts'
import { until } from '../../virtual-workers.ts'
import { onFullStage, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

/** For the sweep and the machine, beside the lease. */
const slackMs = 5_000

/** Nobody says that the only worker is dead: another one, on another machine, finds out by the lease. */
export async function playDeadWorker(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  let resumedAt: number | undefined
  const runId = await stage.start(async ({ ctx, tools: { keyed } }) => {
    if (ctx.attempt === 1) return await new Promise<never>(() => {})
    resumedAt ??= performance.now()
    await keyed({ subject: `resumed ${ctx.run.id}` })
  })
  await until('the item is at work', async () => (await stage.item(runId)).status === 'in_progress')
  const killedAt = performance.now()
  stage.workers.kill()
  await stage.workers.startWorker()
  await stage.workers.runIs(runId, undefined, stage.timings.leaseMs + 60_000)
  const resumeMs = Math.round((resumedAt ?? Infinity) - killedAt)
  findings.figure('resumeMs', resumeMs)
  findings.atMost('from the death to the next attempt', resumeMs, stage.timings.leaseMs + slackMs)
  findings.is('effects', stage.applied(`resumed ${runId}`), 1)
  return findings.outcome()
}

/** @param stop stops the database in the middle of everything and brings it back; resolves when it is back. */
export async function playStoppedDatabase(stage: CaseStage<CaseTool>, stop: () => Promise<void>): Promise<CaseOutcome> {
  const findings = new Findings()
  const names = Array.from({ length: 20 }, (_, n) => `active ${n + 1}`)
  for (const name of names) stage.effects.program(name, [{ hold: 'after' }])
  const runId = await stage.start(async ({ payload, tools: { keyed } }) => {
    await keyed({ subject: String(payload) })
    await keyed({ subject: `${String(payload)} then` })
  }, { items: names.map((name) => ({ key: name, payload: name })), policy: { maxFailures: 1 } })
  await Promise.all(names.map((name) => stage.effects.received(name, 1)))
  await stop()
  for (const name of names) stage.effects.release(name)
  // Queued or at work under a lease, or ended: what is neither is an orphan, and a sweep finds it.
  const backAt = performance.now()
  await until('no item is orphaned', async () => (await stage.rows(`select 1 from pawl.items where status = 'in_progress' and lease_until < clock_timestamp()`)).length === 0,
    stage.timings.leaseMs + stage.timings.sweepEveryMs + limits.statementDeadlineMs + slackMs)
  findings.figure('noOrphanMs', Math.round(performance.now() - backAt))
  const run = await stage.workers.runIs(runId, undefined, stage.timings.leaseMs * 2 + 60_000)
  findings.is('the run', run.status, 'completed')
  for (const name of names.flatMap((one) => [one, `${one} then`])) findings.is(`effects of ${name}`, stage.applied(name), 1)
  findings.is('failures', (await stage.items(runId)).reduce((sum, item) => sum + item.failures, 0), 0)
  return findings.outcome()
}

export const case10: LiteralCase = {
  id: 10, title: 'the only worker is killed at default timings; Postgres stops at once under twenty active items',
  async run({ freshDatabase }) {
    const dead = await onFullStage(await freshDatabase(), playDeadWorker, { workers: 1 })
    const server = await CrashServer.start()
    try {
      const stopped = await onFullStage(server.url, (stage) => playStoppedDatabase(stage, () => server.crash()))
      return { ok: dead.ok && stopped.ok, figures: { ...dead.figures, ...stopped.figures }, problems: [...(dead.problems ?? []), ...(stopped.problems ?? [])] }
    } finally {
      await server.stop()
    }
  },
}
