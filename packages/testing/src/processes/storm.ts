/**
 * Runs of every kind on a fleet of real processes that are struck at random, until so many have been killed; then calm, until everything has ended and no
 * process stands still; then the verdict, from what the receivers logged.
 */
import { judge, type Judgement } from '../chaos/judge.ts'
import type { RunKind } from '../chaos/run-plan.ts'
import { Load } from './load.ts'
import { measureResume, type ResumeTimes } from './resume.ts'
import type { Stage } from './stage.ts'
import { Striker, type StrikeKind } from './strikes.ts'

export interface StormOptions {
  readonly kills: number
  /** Runs under way at once. */
  readonly breadth: number
  /** No new run is started after this. */
  readonly minutes?: number
  readonly say: (line: string) => void
}

export interface StormReport {
  readonly strikes: Readonly<Record<StrikeKind, number>>
  readonly inFlightAtDeath: number
  readonly judged: Judgement
  readonly resume: ResumeTimes
  readonly killsPerSecond: number
  readonly queueStalls: number
  readonly missingLocks: number
  readonly stuck: readonly string[]
  readonly needless: readonly string[]
  readonly contradictions: readonly string[]
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const tickMs = 50
const sayEveryMs = 10_000
const strikeEveryMs = [300, 900] as const
const longestRestMs = 15_000
const quietMs = 120_000
/** Items of such a run wait for somebody who lets it go on, not for a worker. */
const heldUp: readonly RunKind[] = ['paused']

/** Plays on a fresh stage, whose fleet it starts; the caller closes the stage. */
export async function playStorm(stage: Stage, options: StormOptions): Promise<StormReport> {
  const striker = new Striker(stage, stage.startFleet())
  const load = new Load(stage)
  const seconds = await blow(stage, options, striker, load)
  await striker.calm()
  await load.end(quietMs)
  const judged = await judge(stage.ledger, stage.effects, load.driven)
  const resume = measureResume(await stage.seen(striker.all), striker.kills, striker.all, (runId) => !heldUp.includes(load.kindOf(runId) ?? 'paused'))
  return {
    strikes: striker.counts, inFlightAtDeath: striker.inFlightAtDeath, judged, resume, killsPerSecond: striker.counts.kill / seconds,
    queueStalls: await stage.countStalls(), missingLocks: stage.logged('Missing lock') + stage.logged('could not renew lock'), stuck: load.stuck,
    needless: [...stage.person.needless], contradictions: [...stage.person.contradictions],
  }
}

/** How many seconds it blew. */
async function blow(stage: Stage, { kills, breadth, minutes, say }: StormOptions, striker: Striker, load: Load): Promise<number> {
  const begunAt = performance.now()
  const until = minutes === undefined ? Number.POSITIVE_INFINITY : begunAt + minutes * 60_000
  const isOver = (): boolean => striker.counts.kill >= kills || performance.now() > until
  let saidAt = begunAt
  const striking = strikeUntil(stage, striker, isOver)
  while (!isOver()) {
    if (load.underWay < breadth) load.start()
    if (performance.now() - saidAt > sayEveryMs) {
      saidAt = performance.now()
      const { kill, stop, term, supervisor } = striker.counts
      say(`${kill} kills, ${stop} stops, ${term} terms, ${supervisor} supervisors; ${load.driven.length} runs ended, ${load.underWay} under way`)
    }
    await pause(tickMs)
  }
  await striking
  return (performance.now() - begunAt) / 1_000
}

async function strikeUntil(stage: Stage, striker: Striker, isOver: () => boolean): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    await pause(stage.chance.between(...strikeEveryMs, 'between strikes', n))
    await wholeFleet(stage)
    if (!isOver()) await striker.strike()
  }
}

/**
 * A process that dies costs a second of the machine's time until another is in its place. Struck faster than that, the fleet starts processes and does
 * nothing else: no item gets far enough to lose something, and how soon one goes on says how slow the machine is.
 */
async function wholeFleet(stage: Stage): Promise<void> {
  const until = performance.now() + longestRestMs
  while (performance.now() < until && (await stage.liveWorkers().catch(() => [])).length < stage.options.processes) await pause(tickMs)
}
