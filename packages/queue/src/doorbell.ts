/** What a job carries, checked when it arrives: anybody can add a job to a store, and old code leaves old jobs behind. */
import { jobId, limits, PawlError, visibleText } from '@pawl/core'
import type { BulkJobOptions } from 'bullmq'
import { z } from 'zod'
import type { Doorbell, Ring } from './port.ts'

const doorbell = z.strictObject({
  ledgerId: z.string().min(1),
  runId: z.string().min(1),
  seq: z.int().nonnegative(),
  generation: z.int().nonnegative(),
})

/** Throws `BAD_DOORBELL`, naming the job and each wrong member, never their values. */
export function readDoorbell(data: unknown, id: string | undefined): Doorbell {
  const parsed = doorbell.safeParse(data)
  if (parsed.success) return parsed.data
  const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'data'}: ${issue.message}`).join('; ')
  throw new PawlError('BAD_DOORBELL', `Job "${id ?? '?'}" is not a doorbell (${wrong}). Something else adds jobs to this queue, or the job is from another version; the ledger rings again for what is due.`, 'drop')
}

const longestTitle = 200

/** Finished jobs stay a while for the board. Stack traces and results do not: jobs hold ids only. */
const kept = { age: limits.jobsKeptForMs / 1_000, count: limits.jobsKept }
export const jobOptions = { attempts: 1, removeOnComplete: kept, removeOnFail: kept, stackTraceLimit: 0, keepLogs: 200 } as const

export function jobOf(ring: Ring): { name: string; data: Doorbell; opts: BulkJobOptions } {
  const { ledgerId, runId, seq, generation } = ring
  return {
    name: visibleText(ring.title).slice(0, longestTitle) || `item ${seq}`,
    data: { ledgerId, runId, seq, generation },
    opts: { ...jobOptions, jobId: jobId(runId, seq, generation), lifo: ring.first },
  }
}
