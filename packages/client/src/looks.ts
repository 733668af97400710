/** The direct client's looks at a run from above, at its items' attempts and turns, and at the fleet. They lock nothing and change nothing. */
import { decode, limits, PawlError } from '@pawl/core'
import { countDoubts, countInbox, countRunsByStatus, getItem, getRun, listAttempts, listTurns, readFailures, readFleet, readPace, readSpent, readSquares } from '@pawl/ledger'
import { currentTools, modelPinsOf, type AnyTool } from '@pawl/tools'
import type { QueueLoad, RunsFilter } from './contract.ts'
import { requireRun, unknownItem, unknownRun, type Parts } from './parts.ts'
import type { Attempts, Failures, Fleet, Pace, RunCounts, Spent, Squares, Tools, Turns } from './wire-looks.ts'

const mostWaiting = 1_000
const mostMinutes = 1_440

export async function countRuns(parts: Parts, filter: Omit<RunsFilter, 'status'>): Promise<RunCounts> {
  const [byStatus, waiting] = await Promise.all([countRunsByStatus(parts.ledger, { ...filter, namespace: parts.namespace }), countInbox(parts.ledger, parts.namespace, mostWaiting)])
  return { byStatus, waiting }
}

export async function squares(parts: Parts, runId: string): Promise<Squares> {
  await requireRun(parts, runId)
  const { total, states, seqs } = await readSquares(parts.ledger, runId)
  return { runId, at: new Date(), total, states, seqs: seqs.map(([first, n]) => [first, n]) }
}

export async function failures(parts: Parts, runId: string): Promise<Failures> {
  await requireRun(parts, runId)
  return { groups: await readFailures(parts.ledger, runId) }
}

export async function pace(parts: Parts, runId: string, { minutes = 60 }: { minutes?: number | undefined }): Promise<Pace> {
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > mostMinutes) throw new PawlError('BAD_MINUTES', `minutes must be a whole number from 1 to ${mostMinutes}.`)
  // One after the other: what a run of others would take to read must not be told by the time a refusal takes.
  const run = await getRun(parts.ledger, runId, parts.namespace)
  const view = run === undefined ? undefined : await readPace(parts.ledger, runId, minutes)
  if (run === undefined || view === undefined) throw unknownRun(runId)
  const moves = !run.paused && run.status === 'running' && view.recent > 0 && view.left > 0
  return { perMinute: view.perMinute.map((minute) => ({ ...minute })), etaMs: moves ? Math.round((view.left / view.recent) * view.recentMs) : null }
}

export async function spent(parts: Parts, runId: string): Promise<Spent> {
  await requireRun(parts, runId)
  const { turns: made, tokens, costMicros } = await readSpent(parts.ledger, runId)
  return { turns: made, tokens, costMicros }
}

export async function attempts(parts: Parts, runId: string, seq: number): Promise<Attempts> {
  await requireItem(parts, runId, seq)
  return { entries: await listAttempts(parts.ledger, runId, seq) }
}

export async function turns(parts: Parts, runId: string, seq: number): Promise<Turns> {
  await requireItem(parts, runId, seq)
  return { entries: (await listTurns(parts.ledger, runId, seq)).map((turn) => ({ ...turn, decision: decode(turn.decision) })) }
}

async function requireItem(parts: Parts, runId: string, seq: number): Promise<void> {
  await requireRun(parts, runId)
  if ((await getItem(parts.ledger, runId, seq)) === undefined) throw unknownItem(runId, seq)
}

export async function fleet(parts: Parts): Promise<Fleet> {
  const [view, doubts, queues] = await Promise.all([readFleet(parts.ledger), countDoubts(parts.ledger), parts.queues?.().catch(() => null) ?? null])
  const oldest = view.versions.flatMap(({ oldestDueMs }) => (oldestDueMs === null ? [] : [oldestDueMs]))
  const sum = (of: (version: (typeof view.versions)[number]) => number): number => view.versions.reduce((n, version) => n + of(version), 0)
  return {
    workers: view.workers.map((worker) => ({ ...worker })), queues: queues?.map((queue) => ({ ...queue })) ?? null,
    backlog: { due: sum(({ due }) => due), delayed: sum(({ delayed }) => delayed), oldestDueMs: oldest.length === 0 ? null : Math.max(...oldest) },
    unsettled: doubts.unsettled, inDoubt: doubts.inDoubt,
    drift: {
      orphans: view.orphans, unserved: view.versions.filter(({ isServed }) => !isServed).map(({ agent, version, live }) => ({ agent, version, items: live })),
      lacking: view.lacking.map((each) => ({ ...each })), queue: queues && driftOf(view.versions, queues),
    },
    sweeper: view.sweeper,
  }
}

/** Where the queue has another number of jobs than the ledger rang for. A job that is just being rung for, or was just finished, is no drift: only what is off by more than a window's worth of motion. */
function driftOf(versions: readonly { agent: string; version: string; rung: number }[], queues: readonly QueueLoad[]): { agent: string; version: string; rung: number; onQueue: number }[] {
  return versions.flatMap(({ agent, version, rung }) => {
    const queue = queues.find((each) => each.agent === agent && each.version === version)
    const onQueue = queue === undefined ? 0 : queue.waiting + queue.active + queue.delayed
    return Math.abs(onQueue - rung) > limits.dispatchWindow / 10 ? [{ agent, version, rung, onQueue }] : []
  })
}

const undoOf = (tool: AnyTool): string | null => tool.undo?.tool.name ?? null

/** What the agents given to this client are made of. */
export function tools(parts: Pick<Parts, 'agents'>): Tools {
  return {
    agents: (parts.agents ?? []).map((agent) => {
      const { model, prompt } = modelPinsOf(agent)
      return {
        agent: agent.name, version: agent.version, serves: [...(agent.serves ?? [])], modelVersion: model, promptVersion: prompt,
        tools: currentTools(agent).map((tool) => ({
          name: tool.name, version: tool.version, description: tool.description, effect: tool.effect, key: tool.key === undefined ? 'by place' as const : 'by meaning' as const,
          verify: tool.verify !== undefined, undo: undoOf(tool), irreversible: tool.irreversible ?? false,
          approval: typeof tool.approval === 'function' ? 'decided by the input' as const : (tool.approval ?? 'never'), stage: tool.stage ?? false,
          timeoutMs: tool.timeoutMs, settleWindowMs: tool.settleWindowMs, keyWindowMs: tool.keyWindowMs ?? null,
        })),
      }
    }),
  }
}
