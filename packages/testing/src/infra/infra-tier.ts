/** `--tier infra`: Postgres and Redis are emptied, killed, demoted, filled up and silenced under live items. */
import type { TierReport, TierRequest } from '../chaos/tiers.ts'
import { Ground } from './ground.ts'
import type { Scenario, ScenarioReport } from './scenario.ts'
import type { Backend } from './scene.ts'
import { postgresBackendsKilled, postgresFull } from './scenarios/postgres-backends.ts'
import { postgresCrashed } from './scenarios/postgres-crashed.ts'
import { redisDemoted } from './scenarios/redis-demoted.ts'
import { redisFlushed } from './scenarios/redis-flushed.ts'
import { redisDown, redisRestartedEmpty, redisRewound } from './scenarios/redis-restarted.ts'
import { refill } from './scenarios/refill.ts'
import { shortPass } from './scenarios/short-pass.ts'
import { postgresSilent, redisSilent } from './scenarios/silences.ts'

const redisScenarios = { redisFlushed, redisRestartedEmpty, redisRewound, redisDown, redisDemoted, redisSilent, refill } as const
/** Played once with each queue. */
const postgresScenarios = { postgresCrashed, postgresBackendsKilled, postgresFull, postgresSilent } as const
/** On request only: what they show is in the others. */
const extraScenarios = { shortPass } as const
export type ScenarioName = keyof typeof redisScenarios | keyof typeof postgresScenarios | keyof typeof extraScenarios

export interface InfraRequest extends Pick<TierRequest, 'seed' | 'minutes' | 'queue' | 'say'> {
  /** 1 where not given: as operators would see it. Less: fewer strikes, shorter outages, less load, short leases. */
  readonly scale?: number
  /** All of them where not given. */
  readonly only?: readonly ScenarioName[]
}

export interface InfraReport extends TierReport {
  readonly tier: 'infra'
  readonly scenarios: readonly Omit<ScenarioReport, 'problems'>[]
  readonly totals: { readonly effects: number; readonly duplicates: number; readonly lost: number; readonly violations: number }
  readonly redisFlushes: number
  readonly postgresCrashes: number
  /** Null where it was not played. */
  readonly refill: { readonly items: number; readonly runs: number; readonly seconds: number } | null
  readonly seed: number
  readonly seconds: number
}

function chosen({ only, queue }: InfraRequest): { name: string; queue: Backend; play: Scenario }[] {
  const all = [
    ...(only ? Object.entries(extraScenarios).map(([name, play]) => ({ name, queue: 'redis' as Backend, play })) : []),
    ...Object.entries(redisScenarios).map(([name, play]) => ({ name, queue: 'redis' as Backend, play })),
    ...Object.entries(postgresScenarios).flatMap(([name, play]) => (['redis', 'postgres'] as const).map((backend) => ({ name, queue: backend as Backend, play }))),
  ]
  return all.filter((one) => (queue === undefined || one.queue === queue) && (only === undefined || (only as readonly string[]).includes(one.name)))
}

export async function infraTier(request: InfraRequest): Promise<InfraReport> {
  const { seed, minutes, say, scale = 1 } = request
  const from = performance.now()
  const reports: ScenarioReport[] = []
  const unheard: string[] = []
  // What nobody listens to would end a worker process; here it is a finding, and the rest is still played.
  const hear = (error: unknown): void => {
    unheard.push(`an error that nobody listened to would have ended a worker: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    say(unheard.at(-1) ?? '')
  }
  process.on('uncaughtException', hear).on('unhandledRejection', hear)
  const ground = await Ground.open({ seed, scale, say })
  try {
    for (const { name, queue, play } of chosen(request)) {
      if (minutes !== undefined && performance.now() - from > minutes * 60_000) break
      say(`${name} (${queue})`)
      const report = await play(ground, queue)
      reports.push(report)
      say(`${report.ok ? 'ok' : 'NOT OK'}: ${report.items} items, ${report.effects} effects, ${report.duplicates} duplicates, ${report.lost} lost, ${report.seconds} s, ${JSON.stringify(report.figures)}`)
    }
  } finally {
    await ground.close()
    process.off('uncaughtException', hear).off('unhandledRejection', hear)
  }
  return summarise(ground, reports, [...reports.flatMap((report) => report.problems), ...unheard], (performance.now() - from) / 1_000)
}

function summarise(ground: Ground, reports: readonly ScenarioReport[], problems: readonly string[], seconds: number): InfraReport {
  const sum = (of: (report: ScenarioReport) => number): number => reports.reduce((total, report) => total + of(report), 0)
  const refilled = reports.find((report) => report.name === 'refill')?.figures
  return {
    tier: 'infra', scenarios: reports.map(({ problems: _problems, ...report }) => report),
    totals: { effects: sum((report) => report.effects), duplicates: sum((report) => report.duplicates), lost: sum((report) => report.lost), violations: sum((report) => report.violations) },
    redisFlushes: ground.redisFlushes, postgresCrashes: ground.postgresCrashes,
    refill: refilled?.['refillSeconds'] === undefined ? null : { items: refilled['items'] ?? 0, runs: refilled['runs'] ?? 0, seconds: refilled['refillSeconds'] },
    seed: ground.options.seed, seconds: Math.round(seconds), ok: problems.length === 0 && reports.length > 0, problems,
  }
}
