/**
 * Case 2: a worker loses what its ownership hangs on while its tools stay reachable. That is Postgres here: it then makes no further call,
 * and the next holder does the rest. Redis is a doorbell only: a worker that loses it keeps its item and finishes it.
 */
import { defaultTimings, type Timings } from '@pawl/harness'
import { startFaultProxy } from '../../fault-proxy.ts'
import { shortTimings, until } from '../../virtual-workers.ts'
import { CaseStage, fullWindows, onStage, toolsByPromise, type CaseTool, type EffectTool, type ToolWindows } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

export interface CutOffWindows {
  readonly timings: Timings
  readonly tools: ToolWindows
}

const calls = [1, 2, 3, 4, 5]
const subjects = calls.map((n) => `pay ${n}`)

export async function playCutFromLedger(url: string, { timings, tools }: CutOffWindows): Promise<CaseOutcome> {
  const findings = new Findings()
  const proxy = await startFaultProxy(url)
  try {
    await onStage({ url, timings, workers: 0, tools: (effects) => toolsByPromise(effects, tools) }, async (home) => {
      // The first worker calls the receiver of the second's stage, through its own, cut-off connection to the ledger.
      const far = await CaseStage.open<CaseTool>({ url: proxy.url, timings, workers: 1, tools: (): Record<CaseTool, EffectTool> => home.tools })
      try {
        home.effects.program('pay 2', [{ hold: 'after' }])
        const pay = async ({ tools: { keyed } }: { tools: { keyed: (input: { subject: string }) => Promise<unknown> } }): Promise<void> => { for (const subject of subjects) await keyed({ subject }) }
        const runId = await far.start(pay)
        home.replace(runId, pay)
        await home.effects.received('pay 2', 1)
        proxy.shut()
        home.effects.release('pay 2')
        const begunAt = Date.now()
        await home.workers.startWorker()
        await until('the worker that was cut off has given its item up', () => far.workers.workers[0]?.attemptsOf(runId) === 0, timings.leaseMs + 30_000)
        findings.figure('gaveUpMs', Date.now() - begunAt)
        const run = await home.workers.runIs(runId, undefined, timings.leaseMs * 3 + 60_000)
        proxy.heal()
        const receipts = home.effects.receipts()
        findings.figure('effects', receipts.filter((one) => one.applied).length)
        findings.is('the run', run.status, 'completed')
        findings.is('effects of each call', subjects.map((subject) => home.applied(subject)), [1, 1, 1, 1, 1])
        findings.is('calls of the worker that was cut off', receipts.filter((one) => one.epoch === 1).map((one) => one.subject), ['pay 1', 'pay 2'])
        findings.is('failures of the item', (await home.item(runId)).failures, 0)
      } finally {
        proxy.heal()
        await far.close()
      }
    })
  } finally {
    await proxy.close()
  }
  return findings.outcome()
}

export async function playCutFromQueue(url: string, redisUrl: string, { timings, tools }: CutOffWindows): Promise<CaseOutcome> {
  const findings = new Findings()
  const proxy = await startFaultProxy(redisUrl)
  try {
    await onStage({ url, timings, workers: 1, redisUrl: proxy.url, tools: (effects) => toolsByPromise(effects, tools) }, async (stage) => {
      stage.effects.program('pay 2', [{ hold: 'after' }])
      const runId = await stage.start(async ({ tools: { keyed } }) => { for (const subject of subjects) await keyed({ subject }) })
      await stage.effects.received('pay 2', 1)
      proxy.shut()
      // Longer than the lock that the queue keeps for a job would live unrenewed.
      await new Promise((resolve) => setTimeout(resolve, timings.leaseMs))
      stage.effects.release('pay 2')
      await until('the item is done without its queue', async () => (await stage.item(runId)).status === 'done', timings.leaseMs + 30_000)
      proxy.heal()
      const run = await stage.workers.runIs(runId, undefined, 60_000)
      findings.is('the run', run.status, 'completed')
      findings.is('effects of each call', subjects.map((subject) => stage.applied(subject)), [1, 1, 1, 1, 1])
      findings.is('attempts', (await stage.item(runId)).attempts, 1)
    })
  } finally {
    await proxy.close()
  }
  return findings.outcome()
}

export const fastCutOff: CutOffWindows = { timings: shortTimings, tools: { timeoutMs: 3_000, settleWindowMs: 50 } }

export const case02: LiteralCase = {
  id: 2, title: 'a worker is cut off from the ledger between two of five calls',
  run: async ({ freshDatabase }) => await playCutFromLedger(await freshDatabase(), { timings: defaultTimings, tools: fullWindows }),
}
