import { limits, type BlockedReason } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { arrayOf, runVerb, runVerbOnce } from './run-verb.ts'
import type { Holder } from './settle.ts'

/** `block_item`. `pending`: the reason was lifted while the item was parking. Null: fenced. */
export async function blockItem(ledger: Ledger, by: Holder, reason: BlockedReason, detail: Readonly<Record<string, unknown>>): Promise<'blocked' | 'pending' | null> {
  const { block_item } = await runVerbOnce(ledger, 'block_item', [by.runId, by.seq, by.epoch, reason, JSON.stringify(detail)],
    z.object({ block_item: z.enum(['blocked', 'pending']).nullable() }), { retryForMs: 60_000 })
  return block_item
}

/** `wake_items`: of one run, or of all. Returns the runs with something due. */
export async function wakeItems(ledger: Ledger, runId: string | null): Promise<string[]> {
  const rows = await runVerb(ledger, 'wake_items', [runId], z.object({ wake_items: z.string() }))
  return [...new Set(rows.map((row) => row.wake_items))]
}

/** `free_leases`: ended ones (null), or all of a worker that is proved dead. */
export async function freeLeases(ledger: Ledger, deadWorker: string | null, leaseMs: number = limits.leaseMs): Promise<{ runId: string; freed: number }[]> {
  return await runVerb(ledger, 'free_leases', [deadWorker, leaseMs],
    z.object({ run_id: z.string(), freed: z.number() }).transform((row) => ({ runId: row.run_id, freed: row.freed })), { retryForMs: 10_000 })
}

const addOutcome = z.object({ outcome: z.enum(['added', 'fenced', 'closed', 'conflict']), names: z.array(z.string()).nullable() })

/** `add_items`: from a running item, fenced by its epoch. `schemaVersion`: of the payloads, where it is not the run's. */
export async function addItems(ledger: Ledger, by: Holder, items: readonly { key: string; payload: string }[], schemaVersion: number | null = null): Promise<z.infer<typeof addOutcome>> {
  const [row] = await ledger.query('select outcome, to_json(names) as names from pawl.add_items($1, $2, $3, $4, $5, $6)', [
    by.runId, by.seq, by.epoch, arrayOf(items.map((i) => i.key)), arrayOf(items.map((i) => i.payload)), schemaVersion,
  ], { retryForMs: 60_000 })
  return addOutcome.parse(row)
}

const releaseOutcome = z.object({ outcome: z.enum(['released', 'changed', 'wrong_state', 'missing']), status: z.string().nullable(), reason: z.string().nullable() })

/** What a person saw of a blocked item: another attempt, or another reason, is another matter. */
export interface ShownBlock {
  readonly attempts: number
  readonly reason: BlockedReason
}

/** `release_item`: a person resumes or fails one blocked item; of a compensation, gives up the undo it is blocked for. `changed`: it is not what was shown. */
export async function releaseItem(
  ledger: Ledger, runId: string, seq: number, verb: 'resume' | 'fail', by: { actor: string; note?: string | null; newCalls?: boolean; shown?: ShownBlock | undefined },
): Promise<z.infer<typeof releaseOutcome>> {
  return await runVerbOnce(ledger, 'release_item', [runId, seq, verb, by.newCalls ?? false, by.actor, by.note ?? null, by.shown?.attempts ?? null, by.shown?.reason ?? null], releaseOutcome)
}
