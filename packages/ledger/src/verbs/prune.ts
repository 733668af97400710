/**
 * Old runs go, a run at a time and as a whole. What may go is decided twice by the same function: to show it, and again under the run's lock.
 * A ledger whose history is in question keeps everything; `checkPrune` says so before anything is begun, the verb holds it.
 */
import { PawlError, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { readIdentity } from '../identity.ts'
import { withTransaction } from '../transaction.ts'
import { arrayOf } from './run-verb.ts'

/** What a caller may give up with a run's rows: its undo, going on with it, the record of what stands. */
export const GIVE_UPS = ['undo', 'resume', 'residue'] as const
export type GiveUp = (typeof GIVE_UPS)[number]
export const PRUNE_HOLDS = ['open', 'unsettled', 'person', 'key', ...GIVE_UPS] as const
export type PruneHold = (typeof PRUNE_HOLDS)[number]

export interface PruneRequest {
  readonly namespace: string
  /** How long ago it ended, at least. */
  readonly ageMs: number
  readonly giveUp: readonly GiveUp[]
  readonly agent?: string | undefined
}

const holds = z.array(z.enum(PRUNE_HOLDS))
const oldRun = z.object({ id: z.string(), agent: z.string(), status: z.enum(RUN_STATUSES), finishedAt: z.coerce.date(), items: z.number(), holds })
export type OldRun = z.infer<typeof oldRun>

/** As `prune_run` has it, which keeps what is younger whatever is asked for. */
export const pruneLeastAgeMs = 3_600_000
const pageSize = 200
/** Of a run with millions of rows. */
const wholeRunMs = 600_000

/** Runs that ended long enough ago, oldest first, each with what holds it; page by page, so that a ledger of any size can be gone through. */
export async function* listOldRuns(ledger: Ledger, request: PruneRequest): AsyncGenerator<OldRun> {
  for (let after = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' }; ;) {
    const rows = await ledger.query(`select r.id, r.agent, r.status, r.finished_at as "finishedAt", r.items_total as items, to_json(pawl.prune_hold(r, $4)) as holds, r.created_at::text as at
      from pawl.runs r where r.namespace = $1 and r.finished_at < clock_timestamp() - $2::bigint * interval '1 ms' and ($3::text is null or r.agent = $3)
      and (r.created_at, r.id) > ($5::timestamptz, $6::uuid) order by r.created_at, r.id limit ${pageSize}`,
    [request.namespace, request.ageMs, request.agent ?? null, arrayOf(request.giveUp), after.at, after.id])
    for (const row of rows) yield oldRun.parse(row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = z.object({ at: z.string(), id: z.string() }).parse(last)
  }
}

const outcome = z.object({ outcome: z.enum(['pruned', 'held', 'young', 'missing', 'untrusted']), holds })
export type PruneOutcome = z.infer<typeof outcome>

/** `prune_run`, in a transaction that may take minutes. Written again after a lost answer it says `missing`. */
export async function pruneRun(ledger: Ledger, runId: string, request: Pick<PruneRequest, 'ageMs' | 'giveUp'>, actor: string): Promise<PruneOutcome> {
  return await withTransaction(ledger, { timeoutMs: wholeRunMs }, async (tx) => {
    const { rows } = await tx.query('select outcome, to_json(holds) as holds from pawl.prune_run($1, $2, $3, $4)', [runId, request.ageMs, arrayOf(request.giveUp), actor])
    return outcome.parse(rows[0])
  })
}

/** Throws `PRUNE_TOO_YOUNG`, and `LEDGER_IN_QUESTION` after a failover or restore that nobody has reviewed. */
export async function checkPrune(ledger: Ledger, request: Pick<PruneRequest, 'ageMs'>): Promise<void> {
  if (request.ageMs < pruneLeastAgeMs) throw new PawlError('PRUNE_TOO_YOUNG', 'Runs that ended less than an hour ago cannot be pruned: a worker that stood still may yet bring an answer for them. Give a longer time.', 'tell')
  const { isTrusted } = await readIdentity(ledger)
  if (!isTrusted) throw inQuestion(ledger)
}

export const inQuestion = (ledger: Ledger): PawlError => new PawlError('LEDGER_IN_QUESTION', `The ledger at ${ledger.host} may have lost its last writes, and its rows are what they are found out with. Nothing is pruned while that is so. See the gap, and how to clear it first: pawl ledger clear`, 'tell')
