/**
 * A retry on the board is a person's wish that the item behind a job goes on. BullMQ's own retry would ring for finished work;
 * here the ledger is asked what the item is, and only its own verbs are used, which never repeat what is committed.
 */
import type { PawlClient } from '@pawl/client'
import { PawlError, type RunStatus } from '@pawl/core'
import { z } from 'zod'

/** What every job of ours carries; jobs that show runs have no item. */
const jobData = z.object({ ledgerId: z.string(), runId: z.string(), seq: z.number().int().optional() })

export interface Resumer {
  /** Resolves when the item or run goes on; otherwise rejects with a sentence that says why not. */
  resume(data: unknown): Promise<void>
}

const resumable: readonly RunStatus[] = ['failed', 'completed_with_failures', 'cancelled']

/** One per request: a run is sent round again once, however many of its items were asked for. */
export function createResumer(pawl: PawlClient, ledgerId: string, note: string): Resumer {
  const resumed = new Map<string, Promise<void>>()

  async function resumeRun(runId: string, isPausedEnough: boolean): Promise<void> {
    const run = await pawl.getRun(runId)
    if (!resumable.includes(run.status) && !(isPausedEnough && run.paused)) {
      throw refusal(`Run ${runId} is ${run.status}. ${run.status === 'running' ? 'It goes on by itself; its failed items can be resumed once it has ended.' : 'There is nothing to resume.'}`)
    }
    await pawl.resume(runId, { reason: note })
  }
  const once = (runId: string, isPausedEnough: boolean): Promise<void> => {
    const known = resumed.get(runId) ?? resumeRun(runId, isPausedEnough)
    resumed.set(runId, known)
    return known
  }

  return {
    async resume(data) {
      const parsed = jobData.safeParse(data)
      if (!parsed.success || parsed.data.ledgerId !== ledgerId) throw refusal('This job is not one of this ledger’s, so nothing is known about it.')
      const { runId, seq } = parsed.data
      if (seq === undefined) return await once(runId, true)
      const item = await pawl.getItem(runId, seq)
      if (item.status === 'blocked' && item.blockedReason !== null) await pawl.releaseItem(runId, seq, 'resume', { note, shown: { attempts: item.attempts, reason: item.blockedReason } })
      else if (item.status === 'failed' || item.status === 'cancelled') await once(runId, false)
      // Sent round again by this very request, for another item of its run.
      else if (item.status === 'pending' && resumed.has(runId)) await once(runId, false)
      else throw refusal(`Item ${seq} is ${item.status.replaceAll('_', ' ')}: ${item.status === 'done' || item.status === 'compensated' ? 'it is never run again.' : 'it goes on by itself, whatever became of this job.'}`)
    },
  }
}

const refusal = (sentence: string): PawlError => new PawlError('NOT_RESUMED', sentence)
