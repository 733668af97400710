/** One run of one example under fire: start, kill, restart, answer, end, prove. */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PawlClient } from '@pawl/client'
import { decode } from '@pawl/core'
import { answerDoubt, auditLedger, releaseItem, wakeItems, type Ledger } from '@pawl/ledger'
import type { Desk } from './desk.ts'
import { countLeftInFlight, listCrashLoops, listDoubts, readMoment, readResumeMs, readSettlings, type Moment } from './facts.ts'
import { Fleet } from './fleet.ts'
import { Reaper } from './reaper.ts'
import { redoOf, resumeFigures, type Report } from './report.ts'
import type { Stage } from './stage.ts'
import type { World } from './world.ts'

/** A demo by hand waits for whoever watches it. */
const patienceMs = { alone: 900_000, byHand: 3_600_000 }

export async function runWorld(stage: Stage, example: string, world: World, chance: { readonly seed: number; readonly random: () => number; readonly desk?: Desk | undefined }): Promise<Report> {
  const begunAt = Date.now()
  const { say } = stage
  const spent = join(stage.folder, 'failpoints')
  mkdirSync(spent)
  const fleet = new Fleet({
    ...process.env, ...stage.env(), ...world.env, PAWL_CONFIG: world.configPath, PAWL_PROCESSES: String(world.workers.processes), PAWL_CONCURRENCY: String(world.workers.concurrency),
    PAWL_LOG_LEVEL: 'info', PAWL_TIMINGS: JSON.stringify(world.workers.timings ?? {}),
    ...(world.failpoints ? { PAWL_FAILPOINTS: world.failpoints.join(','), PAWL_FAILPOINTS_SPENT: spent } : {}),
  }, stage.logPath)
  const runId = await stage.startRun(world.agent, world.input)
  fleet.start()
  const reaper = new Reaper({ ...world.kills, expectedActions: world.expectedActions }, chance.random)
  let last: Moment
  try {
    last = await watch(stage, runId, world, fleet, reaper, begunAt, chance.desk)
  } finally {
    await fleet.stop()
  }

  // Opened again when everything was killed.
  const { ledger } = stage
  const proof = await world.prove(ledger, runId)
  const audit = await auditLedger(ledger, { runId })
  const inFlightAtKill = await countLeftInFlight(ledger, runId, reaper.kills.flatMap((kill) => kill.inFlight))
  const settled = await readSettlings(ledger, runId)
  const samples: number[] = []
  for (const kill of reaper.kills) {
    const ms = await readResumeMs(ledger, runId, kill.held, kill.atMs)
    if (ms !== undefined) samples.push(ms)
  }
  const struck = readdirSync(spent).length
  if (world.failpoints) say(`  ${struck} of ${world.failpoints.length} planned places were reached, and a worker process died at each`)
  const faults = [
    ...proof.faults,
    ...audit.violations.map((violation) => violation.sentence),
    ...(world.endings.includes(last.status) ? [] : [`the run ended as ${last.status}`]),
    ...(reaper.isDone ? [] : ['not every planned kill happened']),
    ...(inFlightAtKill === 0 ? ['nothing was in flight at a kill, so nothing was put to the test'] : []),
    // Where a person said of every one that it happened, nothing had to go on.
    ...(world.failpoints && struck === 0 ? ['no process died at a planned place'] : []),
    ...(samples.length === 0 && settled.asked === 0 ? ['no item of a dead worker went on'] : []),
  ]
  for (const fact of proof.facts) say(`  ${fact}`)
  say(`  the audit of the ledger found ${audit.violations.length} violations (${audit.checked} invariants checked)`)
  for (const fault of faults) say(`  NOT PROVED: ${fault}`)
  return {
    example, queue: stage.queue.backend, seed: chance.seed, ...proof.thinking, items: last.total, done: last.done, kills: reaper.kills.length + struck, inFlightAtKill, settled,
    effects: proof.effects, duplicates: proof.duplicates, lost: proof.lost, resumeMs: resumeFigures(samples), commits: proof.commits ?? 0,
    redoAvoided: redoOf(reaper.kills), seconds: Math.round((Date.now() - begunAt) / 100) / 10,
    ok: faults.length === 0 && proof.duplicates === 0 && proof.lost === 0,
  }
}

async function watch(stage: Stage, runId: string, world: World, fleet: Fleet, reaper: Reaper, begunAt: number, desk: Desk | undefined): Promise<Moment> {
  for (;;) {
    stage.interrupted.throwIfAborted()
    const moment = await readMoment(stage.ledger, runId)
    stage.progress(moment, reaper.kills.length)
    if (isOver(moment)) return moment
    const patience = desk === undefined ? patienceMs.alone : patienceMs.byHand
    if (Date.now() - begunAt > patience) throw new Error(`the run did not end within ${patience / 1_000} s: it is ${moment.status}, ${moment.done} of ${moment.total} done, ${moment.blocked} blocked. The workers' log is ${stage.logPath}.`)
    await world.tick?.()
    const kill = await reaper.strike(stage.ledger, runId, moment, fleet, () => stage.killStore())
    if (kill?.what === 'everything') {
      stage.say(`killed everything: supervisor, workers and Postgres, with ${kill.inFlight.length} calls in flight; starting again`)
      await stage.restartStore()
      fleet.start()
    } else if (kill) stage.say(`killed a worker holding ${kill.held.length} items, ${kill.inFlight.length} calls in flight (SIGKILL)`)
    if (moment.blocked > 0) await answer(stage.ledger, runId, world, stage.say)
    if (moment.blocked > 0) await release(stage.ledger, runId, stage.say)
    if (moment.blocked > 0 && desk) await desk.remind(stage.client(), runId)
    else if (moment.blocked > 0 && world.approve) await decide(stage.client(), runId, world.approve, stage.say)
    await new Promise((resolve) => setTimeout(resolve, 40))
  }
}

const isOver = (moment: Moment): boolean => ['completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue'].includes(moment.status)

/** The person in the loop: looks at the receiver, then says what happened. */
async function answer(ledger: Ledger, runId: string, world: World, say: (line: string) => void): Promise<void> {
  if (!world.answerDoubt) return
  for (const doubt of await listDoubts(ledger, runId)) {
    const verdict = await world.answerDoubt({ ...doubt, actionId: doubt.id, args: decode(doubt.args) })
    if (verdict === undefined) continue
    const { outcome } = await answerDoubt(ledger, runId, doubt.id, { attempt: doubt.attempt, evidence: doubt.evidence, answer: verdict, result: verdict === 'happened' ? '{"messageId":"seen by a person"}' : null, actor: 'demo' })
    if (outcome === 'answered') say(`asked about ${doubt.tool}, a person looked and said: ${verdict === 'happened' ? 'it happened' : 'it did not happen'} (pawl settle)`)
    await wakeItems(ledger, runId)
  }
}

/** An item whose worker died too often in a row waits for somebody to look; here it was always us who killed it. */
async function release(ledger: Ledger, runId: string, say: (line: string) => void): Promise<void> {
  for (const seq of await listCrashLoops(ledger, runId)) {
    const { outcome } = await releaseItem(ledger, runId, seq, 'resume', { actor: 'demo', note: 'killed by the demo' })
    if (outcome === 'released') say(`item ${seq} was held: its worker had died five times in a row; a person saw why and let it go on (pawl run resume --item ${seq})`)
  }
}

/** The same person says yes or no to the calls that wait for it, each exactly as the inbox shows it. */
async function decide(client: PawlClient, runId: string, approve: NonNullable<World['approve']>, say: (line: string) => void): Promise<void> {
  const shown = (await client.inbox({ runId })).entries.flatMap((entry) => (entry.kind === 'approval' ? [entry.approval] : []))
  if (shown.length === 0) return
  const decided = await client.decideApprovals(runId, { approve: shown.filter((call) => approve(call) === 'approved'), reject: shown.filter((call) => approve(call) === 'rejected'), note: 'seen' })
  for (const { actionId, outcome, tool } of decided) {
    if (outcome === 'approved' || outcome === 'rejected') say(`a yes was asked for to ${tool} (action ${actionId}), and a person ${outcome === 'approved' ? 'gave it' : 'said no'}`)
  }
}
