/** What is done to a run from outside: started, and paused, cancelled, compensated or resumed while calls of it are in flight. */
import type { AnyAgent } from '@pawl/harness'
import { cancelRun, pauseRun, readRun, resumeRun, startCompensation, type Ledger, type RunPolicy } from '@pawl/ledger'
import { beginRun } from './begin-run.ts'
import type { Chance } from './chance.ts'
import type { Fleet } from './fleet.ts'
import type { Observer } from './observer.ts'
import { callsOf, planReceiverFaults, planRun, type RunPlan } from './run-plan.ts'
import type { Receiver } from './receiver.ts'
import type { RunWatch } from './run-watch.ts'
import type { Tally } from './tally.ts'

export interface DriveParts {
  readonly ledger: Ledger
  readonly agent: AnyAgent
  readonly fleet: Pick<Fleet, 'touch'>
  readonly effects: Receiver
  readonly chance: Chance
  readonly observer: Observer
  readonly tally: Tally
  readonly watch: RunWatch
  readonly resumed: Set<number>
  readonly named: (n: number, runId: string) => void
}

export interface DrivenRun {
  readonly plan: RunPlan
  readonly runId: string
  readonly status: string
}

const actor = 'chaos'
const underWay: readonly string[] = ['splitting', 'running', 'finalizing', 'compensating']
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Long enough that something is in flight in most runs by then. */
const longestWaitMs = 2_500

export async function driveRun(parts: DriveParts, n: number): Promise<DrivenRun> {
  const { ledger, agent, fleet, effects, chance, watch } = parts
  const plan = planRun(chance, n)
  for (const call of callsOf(plan)) {
    const faults = planReceiverFaults(chance, call)
    if (faults.length > 0) await effects.program(call.subject, faults)
  }
  const policy: Partial<RunPolicy> = { onFailure: plan.kind === 'compensated by policy' ? 'compensate' : plan.kind === 'resumed' ? 'hold' : 'complete', ...(plan.kind === 'compensated by policy' || plan.kind === 'resumed' ? { maxFailures: 1 } : {}) }
  let struck: Promise<void> = Promise.resolve()
  const runId = await beginRun(ledger, agent, { n }, plan.kind === 'split' ? null : plan.items.map((item, i) => ({ key: item.key, payload: { i } })), policy, (id) => {
    parts.named(n, id)
    struck = parts.observer.nextStrike(id)
  })
  fleet.touch(runId)
  await Promise.race([struck, pause(chance.between(100, longestWaitMs, 'meddle', n))])
  await meddle(parts, plan, runId)
  let status = await watch.ended(runId)
  if (plan.kind === 'resumed') {
    parts.resumed.add(n)
    if ((await resumeRun(ledger, runId, actor)).outcome === 'resumed') parts.tally.count('resumes')
    fleet.touch(runId)
    status = await watch.ended(runId)
  }
  return { plan, runId, status }
}

async function meddle({ ledger, fleet, tally }: DriveParts, { kind }: RunPlan, runId: string): Promise<void> {
  if (kind === 'paused') {
    const { outcome } = await pauseRun(ledger, runId, actor)
    await pause(500)
    // A run that ended meanwhile would go round again, its finalizer too.
    const run = outcome === 'paused' ? await readRun(ledger, runId) : undefined
    if (run?.paused && underWay.includes(run.status)) await resumeRun(ledger, runId, actor)
  } else if (kind === 'compensated by a person') {
    await compensate(ledger, tally, runId)
  } else if (kind === 'cancelled' || kind === 'cancelled, then compensated') {
    if (((await cancelRun(ledger, runId, actor, null)).unsettled ?? 0) > 0) tally.count('cancelsWithUnsettled')
    if (kind === 'cancelled, then compensated') {
      await pause(300)
      await compensate(ledger, tally, runId)
    }
  }
  fleet.touch(runId)
}

async function compensate(ledger: Ledger, tally: Tally, runId: string): Promise<void> {
  const { outcome } = await startCompensation(ledger, runId, actor, null)
  if (outcome !== 'started') return
  const [row] = await ledger.query<{ n: number }>(`select count(*)::integer as n from pawl.actions where run_id = $1 and status in ('started', 'in_doubt')`, [runId])
  if ((row?.n ?? 0) > 0) tally.count('compensationsWithUnsettled')
}
