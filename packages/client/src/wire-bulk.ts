/** One verb for many runs: the request and how it stands. */
import { z } from 'zod'

const at = z.iso.datetime().transform((text) => new Date(text))
const count = z.number().int()

export const bulkVerbs = ['pause', 'resume', 'cancel'] as const

export const bulkStartedSchema = z.object({
  id: z.string(),
  /** False: the Idempotency-Key named this bulk already. */
  isNew: z.boolean(),
})
export type BulkStarted = z.infer<typeof bulkStartedSchema>

export const bulkSchema = z.object({
  id: z.string(), verb: z.enum(bulkVerbs), by: z.string(), createdAt: at,
  /** All of it is through when done and failed together are this many. */
  total: count, done: count,
  /** Runs that refused it, were not there, or where it failed; each left as it was. */
  failed: count,
  /** A page of its runs, oldest first. */
  entries: z.array(z.object({ runId: z.string(), outcome: z.enum(['open', 'done', 'wrong_state', 'missing', 'failed']), detail: z.string().nullable() })),
  cursor: z.string().nullable(),
})
export type Bulk = z.infer<typeof bulkSchema>
