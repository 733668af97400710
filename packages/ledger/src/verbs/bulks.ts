import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { arrayOf, runVerb, runVerbOnce } from './run-verb.ts'

export const BULK_VERBS = ['pause', 'resume', 'cancel'] as const
export type BulkVerb = (typeof BULK_VERBS)[number]
export const BULK_OUTCOMES = ['done', 'wrong_state', 'missing', 'failed'] as const
export type BulkOutcome = (typeof BULK_OUTCOMES)[number]

export interface NewBulk {
  /** UUIDv7: bulks are carried out in their order. */
  readonly id: string
  readonly namespace: string
  /** The caller's Idempotency-Key. */
  readonly key: string | null
  readonly digest: string
  readonly verb: BulkVerb
  readonly createdBy: string
  readonly reason: string | null
  readonly runIds: readonly string[]
}

const started = z.object({ outcome: z.enum(['created', 'exists']), id: z.string(), digest: z.string() })

/** `start_bulk`. `exists`: the key names a bulk already; the caller compares digests. Without a key a lost answer is not written again: it would be a second one. */
export const startBulk = (ledger: Ledger, bulk: NewBulk): Promise<z.infer<typeof started>> =>
  runVerbOnce(ledger, 'start_bulk', [bulk.id, bulk.namespace, bulk.key, bulk.digest, bulk.verb, bulk.createdBy, bulk.reason, arrayOf(bulk.runIds)], started, { retryForMs: bulk.key === null ? 0 : 5_000 })

const step = z.object({ bulk_id: z.string(), run_id: z.string(), verb: z.enum(BULK_VERBS), outcome: z.enum(BULK_OUTCOMES) })

export interface BulkStep {
  readonly bulkId: string
  readonly runId: string
  readonly verb: BulkVerb
  readonly outcome: BulkOutcome
}

/** `step_bulk`: does the verb to one more run. Undefined: nothing is left, of this bulk or (null) of any, or others have it in hand. A lost answer needs no care: the run is written down. */
export async function stepBulk(ledger: Ledger, bulkId: string | null): Promise<BulkStep | undefined> {
  const [row] = await runVerb(ledger, 'step_bulk', [bulkId], step)
  return row && { bulkId: row.bulk_id, runId: row.run_id, verb: row.verb, outcome: row.outcome }
}
