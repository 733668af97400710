/**
 * Case 11: the attempt of a call stands still for ever at each point between its intent and the queue's acknowledgement, over and over, while the
 * processor is taken away now and then. The outcome may not depend on how the writes and the crash happened to fall.
 */
import { newRunId } from '@pawl/core'
import type { FailpointName } from '@pawl/harness'
import { caseTools, onStage, toolsByPromise, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

/** `after-send` lies between two failpoints: the request has arrived, its answer is held back. */
export type CrashPoint = FailpointName | 'after-send'
export const crashPoints: readonly CrashPoint[] = ['before-intent', 'after-intent', 'after-send', 'after-answer', 'after-completion', 'before-finish', 'after-finish']

async function crashOnce(stage: CaseStage<CaseTool>, tool: CaseTool, at: CrashPoint): Promise<{ subject: string; doubts: number; done: boolean }> {
  const runId = newRunId()
  const subject = `${tool} ${at} ${runId}`
  const isItems = at === 'before-finish' || at === 'after-finish'
  // An attempt that dies while it waits for an answer would look for it next.
  const fault = stage.workers.fault({ runId, at: at === 'after-send' ? 'before-settle' : at, seq: 1, does: 'freeze', ...(isItems ? {} : { tool }) })
  if (at === 'after-send') stage.effects.program(subject, [{ hold: 'after' }])
  await stage.start(async ({ tools: { [tool]: call } }) => { await call({ subject }) }, { id: runId, policy: { maxFailures: 1 } })
  if (at === 'after-send') {
    await stage.effects.received(subject, 1)
    for (const worker of stage.workers.workers) worker.freeze({ runId, seq: 1, epoch: 1 })
  } else await fault.struck
  const isAsked = tool === 'opaque' && (at === 'after-intent' || at === 'after-send' || at === 'after-answer')
  if (isAsked) await stage.blocked(runId, 'in_doubt', patienceMs)
  if (isAsked) await stage.answer(runId, stage.applied(subject) > 0 ? 'happened' : 'did_not', '{"ref":"said by a person"}', patienceMs)
  const run = await stage.workers.runIs(runId, undefined, patienceMs)
  const [events] = await stage.rows<{ n: number }>(`select count(*)::integer as n from pawl.events where run_id = $1 and kind = 'action.in_doubt'`, [runId])
  return { subject, doubts: events?.n ?? 0, done: run.status === 'completed' }
}

/** Ends a broken case only. */
const patienceMs = 900_000

/** @param breadth crashes at once. */
export async function playCrashPoints(stage: CaseStage<CaseTool>, points: readonly CrashPoint[], repetitions: number, breadth: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const plan = Array.from({ length: repetitions }, () => points.flatMap((at) => caseTools.map((tool) => ({ at, tool })))).flat()
  let next = 0
  const lane = async (): Promise<void> => {
    for (let mine = plan[next++]; mine; mine = plan[next++]) {
      const { at, tool } = mine
      const { subject, doubts, done } = await crashOnce(stage, tool, at)
      const what = `${tool} at ${at}`
      findings.is(`${what}: the run is completed`, done, true)
      findings.is(`${what}: effects`, stage.applied(subject), tool === 'read' ? 0 : 1)
      if (tool === 'opaque' || tool === 'lookup') findings.is(`${what}: receipts`, stage.receipts(subject), 1)
      findings.is(`${what}: a person was asked`, doubts, tool === 'opaque' && (at === 'after-intent' || at === 'after-send' || at === 'after-answer') ? 1 : 0)
    }
  }
  await Promise.all(Array.from({ length: breadth }, lane))
  findings.figure('crashes', plan.length)
  return findings.outcome()
}

/** Takes the processor away for a moment, again and again, at times the seed decides. */
function throttle(seed: number): () => void {
  let state = seed % 2_147_483_647 || 1
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  let timer: NodeJS.Timeout | undefined
  const burst = (): void => {
    const end = performance.now() + random() * 120
    while (performance.now() < end);
    timer = setTimeout(burst, random() * 400)
  }
  burst()
  return () => clearTimeout(timer)
}

export const case11: LiteralCase = {
  id: 11, title: 'fifty crashes at each of seven points for each class, under a throttled processor',
  async run({ freshDatabase, seed }) {
    const stop = throttle(seed)
    try {
      // Waits before verify and before a person's "no" are the tool's windows: shorter ones, or this takes half a day.
      const url = await freshDatabase()
      return await onStage({ url, concurrency: 2_000, tools: (effects) => toolsByPromise(effects, { timeoutMs: 5_000, settleWindowMs: 500 }) }, (stage) => playCrashPoints(stage, crashPoints, 50, 40))
    } finally {
      stop()
    }
  },
}
