/** Steady work without a fault of ours, and what grows meanwhile: memory, file descriptors and connections have to be flat, and no transaction may stand open. */
import { readdirSync, readFileSync } from 'node:fs'
import type { TierReport, TierRequest } from '../chaos/tiers.ts'
import { Load } from './load.ts'
import type { Ground } from './ground.ts'
import { Stage, type QueuePlace } from './stage.ts'
import { signalWorker, type WorkerFleet } from './worker-fleet.ts'

export interface Sample {
  readonly rssMegabytes: number
  readonly descriptors: number
  readonly connections: number
  readonly idleInTransactionMs: number
}

export interface Trend {
  readonly first: number
  readonly last: number
  readonly isFlat: boolean
}

const sampleEveryMs = 5_000
const collectionMs = 500
/** Caches fill, pools open, the compiler settles. */
const warmUpShare = 0.25
const longestIdleMs = 5_000
const fewestSamples = 8
const longestStartMs = 120_000
const defaultMinutes = 15
const defaultBreadth = 6
const quietMs = 120_000
const soakProcesses = 2
/** What the last quarter may have more than the first, as a share and beside it. */
const slack = { rssMegabytes: [0.15, 24], descriptors: [0.05, 6], connections: [0.05, 4] } as const
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** First against last quarter, by their medians. */
export function trendOf(samples: readonly Sample[], of: keyof typeof slack): Trend {
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  const first = median(samples.slice(0, quarter).map((sample) => sample[of]))
  const last = median(samples.slice(-quarter).map((sample) => sample[of]))
  const [share, beside] = slack[of]
  return { first, last, isFlat: last <= first * (1 + share) + beside }
}

export async function soak(request: TierRequest, backends: readonly QueuePlace['backend'][], ground: Ground): Promise<TierReport & Readonly<Record<string, unknown>>> {
  const { seed, minutes = defaultMinutes, breadth = defaultBreadth, say } = request
  const queues: Record<string, unknown> = {}
  const problems: string[] = []
  for (const backend of backends) {
    const url = await ground.database(`soak_${backend}`)
    const stage = await Stage.open({ url, queue: ground.queueOf(backend, url), seed, processes: soakProcesses, concurrency: 8, deadlineMs: 120_000 })
    try {
      const { samples, load } = await work(stage, minutes * 60_000, breadth, (line) => say(`${backend}: ${line}`))
      const trends = { rssMegabytes: trendOf(samples, 'rssMegabytes'), descriptors: trendOf(samples, 'descriptors'), connections: trendOf(samples, 'connections') }
      const idleInTransactionMs = Math.max(0, ...samples.map((sample) => sample.idleInTransactionMs))
      queues[backend] = { ...trends, idleInTransactionMs, samples: samples.length, runs: load.driven.length }
      for (const [name, { first, last, isFlat }] of Object.entries(trends)) if (!isFlat) problems.push(`${backend}: ${name} grew from ${first} to ${last}`)
      if (idleInTransactionMs > longestIdleMs) problems.push(`${backend}: a transaction stood open for ${idleInTransactionMs} ms`)
      if (samples.length < fewestSamples) problems.push(`${backend}: ${samples.length} samples after the warm-up prove nothing; ${fewestSamples} are needed`)
      problems.push(...load.stuck.map((one) => `${backend}: ${one}`))
    } finally {
      await stage.close()
    }
  }
  return { tier: 'processes', soakMinutes: minutes, queues, seed, ok: problems.length === 0, problems }
}

async function work(stage: Stage, forMs: number, breadth: number, say: (line: string) => void): Promise<{ samples: Sample[]; load: Load }> {
  const fleet = stage.startFleet()
  const load = new Load(stage)
  const samples: Sample[] = []
  // Steady is what follows the first runs, however long the processes took to start.
  const isSteady = (): boolean => load.driven.length >= breadth
  let begunAt = performance.now()
  const startsUntil = begunAt + longestStartMs
  let sampledAt = Number.POSITIVE_INFINITY
  while (performance.now() - begunAt < forMs) {
    if (sampledAt === Number.POSITIVE_INFINITY && performance.now() < startsUntil && !isSteady()) begunAt = performance.now()
    else if (sampledAt === Number.POSITIVE_INFINITY) sampledAt = begunAt + forMs * warmUpShare
    if (load.underWay < breadth) load.start()
    if (performance.now() >= sampledAt) {
      sampledAt += sampleEveryMs
      const sample = await takeSample(stage, fleet)
      samples.push(sample)
      if (samples.length % 6 === 1) say(`${load.driven.length} runs ended; ${JSON.stringify(sample)}`)
    }
    await pause(50)
  }
  await load.end(quietMs)
  return { samples, load }
}

/** Of the supervisor and its workers together, these after a full collection; connections are the database's, but for ours. */
async function takeSample(stage: Stage, fleet: WorkerFleet): Promise<Sample> {
  const workers = await stage.liveWorkers()
  for (const worker of workers) signalWorker(worker, 'SIGUSR2')
  await pause(collectionMs)
  const pids = [...workers.map(({ pid }) => pid), ...(fleet.supervisorPid === undefined ? [] : [fleet.supervisorPid])]
  const [row] = await stage.ledger.query<{ connections: number; idle: number }>(`select count(*) filter (where application_name not like 'chaos control%')::integer as connections,
    (coalesce(max(extract(epoch from clock_timestamp() - state_change)) filter (where state like 'idle in transaction%'), 0) * 1000)::integer as idle
    from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`)
  return {
    rssMegabytes: Math.round(pids.reduce((sum, pid) => sum + rssOf(pid), 0)), descriptors: pids.reduce((sum, pid) => sum + descriptorsOf(pid), 0),
    connections: row?.connections ?? 0, idleInTransactionMs: row?.idle ?? 0,
  }
}

function rssOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  } catch {
    return 0
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}
