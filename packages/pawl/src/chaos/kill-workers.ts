/**
 * Kills worker processes of a fleet of one's own while they are at one run, at moments drawn from a seed, until the run has ended or so many are dead.
 * Only pids the supervisor in this process names are ever signalled; workers elsewhere are left alone.
 */
import { createHash } from 'node:crypto'
import { isEndedRun, type RunStatus } from '@pawl/core'
import type { Ledger } from '@pawl/ledger'

export interface KillRequest {
  readonly ledger: Ledger
  readonly runId: string
  readonly seed: number
  readonly kills: number
  /** Pids of worker processes that are ready, all of them ours. */
  readonly pidsNow: () => readonly number[]
  readonly deadlineMs: number
  readonly onKill: (n: number, pid: number, inFlight: number) => void
}

export interface Killed {
  readonly kills: number
  /** Calls whose outcome nobody knew at a death. */
  readonly inFlight: number
  readonly status: RunStatus
  /** Only items are left that wait for a person. */
  readonly isWaiting: boolean
  readonly isLate: boolean
}

interface State extends Record<string, unknown> {
  readonly status: RunStatus
  readonly moving: number
  readonly blocked: number
}
/** Since when somebody of ours has been at the run without a call in flight. */
interface Patience {
  since: number | undefined
}
interface Holder extends Record<string, unknown> {
  readonly pid: number
  readonly in_flight: number
}

const pollMs = 40
/** Between two deaths: long enough to get somewhere, short enough that something is in flight. */
const gapMs = [300, 1_500] as const
/** How long a death waits for a call to be in flight. */
const patienceMs = 3_000
const longestMomentMs = 400
/** Deaths that are meant for a worker with a call in flight; the others come whenever. */
const aimedShare = 0.85
/** A person is needed only once nothing has moved for a while: an item may be about to be woken. */
const stillMs = 3_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** In [0, 1), from the seed and what it is drawn for. */
const draw = (seed: number, what: string, n: number): number => createHash('sha256').update(`${seed}|${what}|${n}`).digest().readUInt32BE(0) / 2 ** 32

export async function killWorkers(request: KillRequest): Promise<Killed> {
  const { seed, kills, deadlineMs } = request
  const until = performance.now() + deadlineMs
  let n = 0
  let inFlight = 0
  let movedAt = performance.now()
  const patience: Patience = { since: undefined }
  const gap = (): number => performance.now() + gapMs[0] + draw(seed, 'gap', n) * (gapMs[1] - gapMs[0])
  let nextAt = gap()
  for (;;) {
    const state = await readState(request)
    const now = performance.now()
    if (state.moving > 0 || state.blocked === 0) movedAt = now
    const isWaiting = now - movedAt > stillMs
    if (isEndedRun(state.status) || isWaiting || now > until) return { kills: n, inFlight, status: state.status, isWaiting, isLate: !isEndedRun(state.status) && !isWaiting }
    if (n < kills && now >= nextAt) {
      const struck = await killOne(request, n, patience)
      if (struck !== undefined) {
        n++
        patience.since = undefined
        inFlight += struck.in_flight
        nextAt = gap()
        request.onKill(n, struck.pid, struck.in_flight)
      }
    }
    await pause(pollMs)
  }
}

async function readState({ ledger, runId }: KillRequest): Promise<State> {
  const [state] = await ledger.query<State>(`select r.status, (select count(*) from pawl.items i where i.run_id = r.id and i.status in ('pending', 'in_progress'))::integer as moving,
    (select count(*) from pawl.items i where i.run_id = r.id and i.status = 'blocked')::integer as blocked from pawl.runs r where r.id = $1`, [runId], { retryForMs: 30_000 })
  return state ?? { status: 'failed', moving: 0, blocked: 0 }
}

/** One that is at the run, most often one with a call in flight; undefined when nobody of ours is, or not yet. */
async function killOne({ ledger, runId, seed, pidsNow }: KillRequest, n: number, patience: Patience): Promise<Holder | undefined> {
  const holders = await ledger.query<Holder>(`select w.pid, (select count(*) from pawl.actions a join pawl.items h on h.run_id = a.run_id and h.seq = a.item_seq
      where a.run_id = $1 and a.status = 'started' and h.worker_id = w.id and h.status = 'in_progress')::integer as in_flight
    from pawl.workers w where exists (select 1 from pawl.items i where i.run_id = $1 and i.status = 'in_progress' and i.worker_id = w.id) order by w.id`, [runId], { retryForMs: 30_000 })
  const ours = new Set(pidsNow())
  const mine = holders.filter(({ pid }) => ours.has(pid))
  const busy = mine.filter(({ in_flight }) => in_flight > 0)
  if (mine.length > 0) patience.since ??= performance.now()
  const isPatient = patience.since === undefined || performance.now() - patience.since < patienceMs
  const isAimed = draw(seed, 'aimed', n) < aimedShare
  const from = isAimed && (busy.length > 0 || isPatient) ? busy : mine
  const one = from[Math.floor(draw(seed, 'whom', n) * from.length)]
  if (one === undefined) return undefined
  // Not at the moment of looking, which is always soon after an intent.
  await pause(draw(seed, 'moment', n) * longestMomentMs)
  if (!pidsNow().includes(one.pid)) return undefined
  process.kill(one.pid, 'SIGKILL')
  return one
}
