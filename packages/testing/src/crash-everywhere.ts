/**
 * The kill test of somebody's own agent in one line: its item is run once per crash point, in this process, against a real ledger, and what
 * a crash makes of it is reported with the way out. A crash is a worker that stands still for ever; another one takes over.
 * The tools are really called, every one at least once per crash point: let them point to a sandbox.
 */
import { PawlError } from '@pawl/core'
import { startEmbedded } from '@pawl/embedded'
import type { Agent, AnyAgent, FailpointName, ItemSeed } from '@pawl/harness'
import type { ToolMap } from '@pawl/tools'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeCrashes, type CrashProblem } from './crash-everywhere-judge.ts'
import { playRun, type CrashPoint, type Play, type Played } from './crash-everywhere-play.ts'
import { Witness } from './crash-everywhere-witness.ts'
import { VirtualWorkers } from './virtual-workers.ts'

export interface CrashOptions<P, M extends ToolMap = ToolMap> {
  /** `postgres://…` of a scratch database; a ledger is made in it. Default: an embedded Postgres, removed afterwards. */
  readonly databaseUrl?: string
  /** Stand-ins for some of the agent's tools, by the agent's names: the same tools, pointing to a sandbox. */
  readonly tools?: Partial<M>
  /** What the run consists of. Default: the first item of the agent's split. */
  readonly items?: readonly ItemSeed<P>[]
  /** Tools' timeouts and settle windows are cut to these while it runs: the waits before `verify` consist of them. Default 5,000 and 1,000. */
  readonly longestTimeoutMs?: number
  readonly longestSettleWindowMs?: number
  /** For one run, crash and takeover included. Default 60,000. */
  readonly deadlineMs?: number
}

export interface CrashReport {
  readonly ok: boolean
  /** Every place at which the run was crashed, `after-answer 2` being the second time it came by there. */
  readonly crashes: readonly string[]
  readonly problems: readonly CrashProblem[]
}

/** Places of the crash table that one item and its run come by. */
const places: readonly FailpointName[] = [
  'after-claim', 'before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion', 'before-finish', 'after-finish', 'between-undos',
]
const mostAtOnce = 30

/**
 * @throws PawlError `CRASH_BASELINE` when the run does not end well even where nobody crashes it; `ITEMS_NEEDED` without items and without split.
 */
export async function crashEverywhere<I, P, M extends ToolMap>(agent: Agent<I, P, M>, input: I, options: CrashOptions<P, M> = {}): Promise<CrashReport> {
  agent.inputSchema.parse(input)
  const items = options.items ?? (await firstItem(agent, input))
  const witness = new Witness({ ...agent, tools: { ...agent.tools, ...options.tools } } as AnyAgent, { longestTimeoutMs: options.longestTimeoutMs ?? 5_000, longestSettleWindowMs: options.longestSettleWindowMs ?? 1_000 })
  const database = options.databaseUrl === undefined ? await openEmbedded() : { url: options.databaseUrl, close: () => Promise.resolve() }
  try {
    const workers = await VirtualWorkers.open({ url: database.url, agents: [witness.agent], concurrency: 1_000 })
    try {
      return await crash({ workers, witness, input, items, deadlineMs: options.deadlineMs ?? 60_000 })
    } finally {
      await workers.close()
    }
  } finally {
    await database.close()
  }
}

async function crash(play: Play): Promise<CrashReport> {
  const undisturbed = await playRun(play, null)
  const early = judgeCrashes(undisturbed, [])
  if (early.length > 0) return { ok: false, crashes: [], problems: early }
  if (!['completed', 'completed_with_failures', 'compensated', 'compensated_with_residue'].includes(undisturbed.end)) {
    throw new PawlError('CRASH_BASELINE', `Without any crash the run of agent "${play.witness.agent.name}" ended "${undisturbed.end}" (${undisturbed.why.reason}), so crashes of it show nothing. Mend that first.`, 'tell')
  }
  // The undisturbed run came by each place so often; a crash is played at every one of these visits.
  const points = places.flatMap((at) => Array.from({ length: play.workers.passed.get(at) ?? 0 }, (_, i): CrashPoint => ({ at, nth: i + 1 })))
  const crashed = (await playInLanes(play, points)).filter((played) => played.hasCrashed)
  const problems = judgeCrashes(undisturbed, crashed)
  return { ok: problems.length === 0, crashes: crashed.flatMap(({ point }) => (point ? [`${point.at} ${point.nth}`] : [])), problems }
}

/** Runs wait for leases most of their time, so many go beside each other. */
async function playInLanes(play: Play, points: readonly CrashPoint[]): Promise<Played[]> {
  const played: Played[] = []
  const waiting = points.values()
  const lane = async (): Promise<void> => {
    for (const point of waiting) played.push(await playRun(play, point))
  }
  await Promise.all(Array.from({ length: mostAtOnce }, lane))
  return played.toSorted((a, b) => orderOf(a, points) - orderOf(b, points))
}

const orderOf = (played: Played, points: readonly CrashPoint[]): number => points.findIndex((point) => point === played.point)

async function firstItem<I, P, M extends ToolMap>(agent: Agent<I, P, M>, input: I): Promise<ItemSeed<P>[]> {
  for await (const item of agent.split?.(input) ?? []) return [item]
  if (agent.split) return []
  throw new PawlError('ITEMS_NEEDED', `Agent "${agent.name}" has no split, so crashEverywhere needs { items: [{ key, payload }] }.`, 'tell', { agent: agent.name })
}

async function openEmbedded(): Promise<{ url: string; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-crash-'))
  const embedded = await startEmbedded({ folder: join(folder, 'postgres') })
  return {
    url: embedded.url,
    async close() {
      await embedded.release()
      for (const path of [embedded.folder, folder]) rmSync(path, { recursive: true, force: true })
    },
  }
}
