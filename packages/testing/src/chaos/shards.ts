/**
 * One event loop plays so many attempts and no more before its own lag is all that is tested. So a long virtual run is played by several processes,
 * each with its own Postgres, its own receivers and its own part of the seed; their figures are added up,
 * and what has to occur has to occur in all of them together.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { isUnproved, withProof } from './proof.ts'
import type { ChaosReport } from './tally.ts'
import type { TierRequest } from './tiers.ts'

const figure = z.number()
const shardReport = z.object({
  faults: figure, effects: figure, duplicates: figure, knownHole: figure, lost: figure, violations: figure, needlessEscalations: figure,
  counters: z.record(z.string(), figure), seed: figure, seconds: figure, ok: z.boolean(),
})
type ShardReport = z.infer<typeof shardReport>

/** Any two seeds a person would choose have no shard in common. */
export const seedOfShard = (seed: number, shard: number): number => seed + shard * 1_000_003

export async function playShards(request: TierRequest, shards: number): Promise<ChaosReport & { readonly shards: number }> {
  const begunAt = performance.now()
  const played = await Promise.all(Array.from({ length: shards }, (_, i) => playShard(request, i, Math.ceil(request.faults / shards))))
  const figures = sumUp(played.map((one) => one.report), played.flatMap((one) => one.problems))
  return { ...withProof({ ...figures, seed: request.seed, seconds: Math.round((performance.now() - begunAt) / 1_000) }), shards }
}

export function sumUp(reports: readonly ShardReport[], problems: readonly string[]): Omit<ChaosReport, 'seed' | 'seconds' | 'ok'> {
  const total = (of: (report: ShardReport) => number): number => reports.reduce((sum, report) => sum + of(report), 0)
  const counters: Record<string, number> = {}
  for (const report of reports) for (const [name, n] of Object.entries(report.counters)) counters[name] = (counters[name] ?? 0) + n
  return {
    tier: 'virtual', faults: total((one) => one.faults), effects: total((one) => one.effects), duplicates: total((one) => one.duplicates), knownHole: total((one) => one.knownHole),
    lost: total((one) => one.lost), violations: total((one) => one.violations), needlessEscalations: total((one) => one.needlessEscalations), counters, problems,
  }
}

async function playShard({ minutes, breadth, seed, say }: TierRequest, shard: number, faults: number): Promise<{ report: ShardReport; problems: string[] }> {
  const own = seedOfShard(seed, shard)
  const child = spawn(process.execPath, [
    ...process.execArgv, process.argv[1] ?? '', '--tier', 'virtual', '--shards', '1', '--json', '--faults', String(faults), '--seed', String(own),
    ...(minutes === undefined ? [] : ['--minutes', String(minutes)]), ...(breadth === undefined ? [] : ['--breadth', String(breadth)]),
  ], { stdio: ['ignore', 'pipe', 'pipe'] })
  const problems: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    say(`shard ${shard} ${line.replace(/^chaos: /, '')}`)
    if (line.startsWith(problemMark) && !isUnproved(line.slice(problemMark.length))) problems.push(`shard ${shard}, seed ${own}: ${line.slice(problemMark.length)}`)
  })
  let last = ''
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => { last = line })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  try {
    return { report: shardReport.parse(JSON.parse(last)), problems }
  } catch (cause) {
    throw new Error(`shard ${shard} (seed ${own}) ended with code ${code} and without a report`, { cause })
  }
}

/** How a problem is said on stderr, and so recognised here. */
export const problemMark = 'chaos: problem: '
