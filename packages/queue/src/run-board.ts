/**
 * One job per run in `pawl-<short>-runs`, for the board only. No worker takes from that queue: a live run is a job
 * delayed by years, an ended one is promoted and completed at once by whoever shows its end. So the waiting list only
 * ever holds ended runs, and one left there by a process that died is completed by the next.
 */
import { randomUUID } from 'node:crypto'
import { jobOptions } from './doorbell.ts'
import type { JobQueue, Store } from './store.ts'

/** Longer than any run, short enough for BullMQ's scores, which lose precision in 2039. */
const yearsMs = 5 * 365 * 86_400_000

export interface RunProgress { readonly done: number; readonly failed: number; readonly blocked: number; readonly total: number }

export interface ShownRun {
  readonly ledgerId: string
  readonly runId: string
  readonly title: string
  readonly progress: RunProgress
  readonly isEnded: boolean
}

async function completeEndedRuns(store: Store, name: string): Promise<void> {
  const fetcher = store.buildFetcher(name)
  fetcher.on('error', () => undefined)
  const token = randomUUID()
  try {
    for (;;) {
      const job = await fetcher.getNextJob(token, { block: false })
      if (job === undefined) return
      await job.moveToCompleted(null, token, false)
    }
  } finally {
    await fetcher.close()
  }
}

async function addRun(queue: JobQueue, id: string, run: ShownRun): Promise<void> {
  await queue.add(run.title.slice(0, 200) || run.runId, { ledgerId: run.ledgerId, runId: run.runId }, { ...jobOptions, jobId: id, delay: yearsMs })
}

/** Adds the run's job or brings it up to date; a run that goes on after its end gets a new one. */
export async function showOnBoard(store: Store, name: string, run: ShownRun): Promise<void> {
  const queue = store.queue(name)
  const id = `run-${run.runId}`
  const state = await queue.getJobState(id)
  const wasEnded = state === 'completed' || state === 'failed'
  if (wasEnded && !run.isEnded) await queue.remove(id)
  if (state === 'unknown' || (wasEnded && !run.isEnded)) await addRun(queue, id, run)
  const job = await queue.getJob(id)
  if (job === undefined) return
  await job.updateProgress({ ...run.progress })
  if (!run.isEnded || wasEnded) return
  if (await job.isDelayed()) await job.promote()
  await completeEndedRuns(store, name)
}
