/**
 * Real worker processes on a real ledger and a real queue, each backend in turn: the whole failpoint matrix, then random SIGKILL, SIGSTOP and SIGTERM.
 * Without kills it is a soak: steady work, and what grows meanwhile.
 */
import { FAILPOINTS } from '@pawl/harness'
import { COUNTERS, leastAtFailpoint, Tally } from '../chaos/tally.ts'
import type { TierReport, TierRequest } from '../chaos/tiers.ts'
import { addReports, type BackendReport } from './backend-report.ts'
import { addTally } from './file-tally.ts'
import { onGround, type Ground } from './ground.ts'
import { allCells, runMatrix } from './matrix.ts'
import { soak } from './soak.ts'
import { Stage, type QueuePlace } from './stage.ts'
import { forceKnownHole } from './standing-hole.ts'
import { playStorm } from './storm.ts'

const matrixProcesses = 6
const stormProcesses = 6
const stormConcurrency = 8
const defaultBreadth = 12
const runDeadlineMs = 240_000

export async function processesTier(request: TierRequest): Promise<TierReport> {
  const begunAt = performance.now()
  const backends: readonly QueuePlace['backend'][] = request.queue === undefined ? ['redis', 'postgres'] : [request.queue]
  return await onGround(backends.includes('redis'), async (ground) => {
    const seconds = (): number => Math.round((performance.now() - begunAt) / 1_000)
    if (request.kills === 0) return { ...(await soak(request, backends, ground)), seconds: seconds() }
    const reports: BackendReport[] = []
    for (const backend of backends) reports.push(await playBackend(request, backend, ground))
    return { ...addReports(reports), seed: request.seed, seconds: seconds() }
  })
}

async function playBackend(request: TierRequest, backend: QueuePlace['backend'], ground: Ground): Promise<BackendReport> {
  const { seed, kills, breadth = defaultBreadth, minutes } = request
  const say = (line: string): void => request.say(`${backend}: ${line}`)
  const total = new Tally()
  say(`the failpoint matrix, ${allCells.length} cells`)
  const matrixUrl = await ground.database(`matrix_${backend}`)
  const { stage: matrixStage, report: matrix } = await runMatrix({ url: matrixUrl, queue: ground.queueOf(backend, matrixUrl), seed, processes: matrixProcesses, deadlineMs: runDeadlineMs }, allCells)
  const knownHole = await forceKnownHole(matrixStage).finally(() => matrixStage.close())
  addTally(matrixStage.tally, total)
  say(`${matrix.outcomes.filter((one) => one.problems.length === 0).length} of ${allCells.length} cells are right; now ${kills} kills`)
  const url = await ground.database(`storm_${backend}`)
  const stage = await Stage.open({ url, queue: ground.queueOf(backend, url), seed, processes: stormProcesses, concurrency: stormConcurrency, deadlineMs: runDeadlineMs })
  try {
    const storm = await playStorm(stage, { kills, breadth, say, ...(minutes === undefined ? {} : { minutes }) })
    await stage.close()
    stage.tally.count('recallFromMemory', storm.judged.recallFromMemory)
    stage.tally.count('evidenceUsed', storm.judged.evidenceUsed)
    addTally(stage.tally, total)
    return {
      backend, matrix, storm, knownHole, tally: total, needless: [...matrix.needless, ...storm.needless], contradictions: [...matrix.contradictions, ...storm.contradictions], unproved: listUnproved(total),
    }
  } finally {
    await stage.close()
  }
}

function listUnproved(tally: Tally): string[] {
  const zero = COUNTERS.filter((name) => (tally.counters.get(name) ?? 0) === 0).map((name) => `nothing proved: the counter ${name} is 0`)
  const rare = FAILPOINTS.filter((name) => (tally.struck.get(name) ?? 0) < leastAtFailpoint).map((name) => `nothing proved: failpoint ${name} was struck ${tally.struck.get(name) ?? 0} times only`)
  return [...zero, ...rare]
}
