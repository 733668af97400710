/** One verb for many runs. Written down as a whole first; whoever carries it out does the verb and notes it in one transaction, run by run, so that nothing is done twice whoever dies. */
import { digest, isUuid, newRunId, PawlError, waitMs } from '@pawl/core'
import { BULK_VERBS, getBulk, listBulkRuns, listRunIds, startBulk, stepBulk, type BulkEntry, type BulkVerb, type Ledger } from '@pawl/ledger'
import { checkKey } from './check-request.ts'
import type { BulkRequest, PageOptions } from './contract.ts'
import { checkReason, type Parts } from './parts.ts'
import { waysOut } from './run-verbs.ts'
import type { Bulk, BulkStarted } from './wire-bulk.ts'

const mostNamed = 1_000
const mostFound = 10_000

/** Throws `BAD_BULK`, `BULK_TOO_LARGE`, `IDEMPOTENCY_CONFLICT`. */
export async function bulk(parts: Parts, request: BulkRequest, options: { idempotencyKey?: string | undefined }): Promise<BulkStarted> {
  const { verb, runIds, filter, reason } = request
  if (!BULK_VERBS.includes(verb)) throw new PawlError('BAD_BULK', `A bulk operation is one of ${BULK_VERBS.join(', ')}.`)
  if ((runIds === undefined) === (filter === undefined)) throw new PawlError('BAD_BULK', 'Name the runs by runIds, or by a filter: one of the two.')
  if (filter !== undefined && Object.values(filter).every((value) => value === undefined)) throw new PawlError('BAD_BULK', 'The filter is empty, which would mean every run there is. Say at least one of agent, status, labels, search, createdAfter, createdBefore, paused.')
  const key = checkKey(options.idempotencyKey)
  const note = checkReason(reason, 'reason')
  const asked = digest(JSON.parse(JSON.stringify({ verb, runIds, filter, note })))
  const { outcome, id, digest: first } = await startBulk(parts.ledger, {
    id: newRunId(), namespace: parts.namespace, key, digest: asked, verb, createdBy: parts.actor, reason: note, runIds: runIds === undefined ? await find(parts, filter ?? {}) : named(runIds),
  })
  if (outcome === 'exists' && first !== asked) {
    throw new PawlError('IDEMPOTENCY_CONFLICT', `The Idempotency-Key named bulk ${id} already, which was another request. Ask for that one, or send this under a key of its own.`, 'tell', { bulkId: id })
  }
  parts.carryOut(id)
  return { id, isNew: outcome === 'created' }
}

function named(runIds: readonly string[]): readonly string[] {
  if (runIds.length === 0 || runIds.length > mostNamed) throw new PawlError('BAD_BULK', `runIds must name 1 to ${mostNamed} runs; name more by a filter.`)
  const wrong = runIds.find((id) => typeof id !== 'string' || !isUuid(id))
  if (wrong !== undefined) throw new PawlError('BAD_BULK', `${JSON.stringify(String(wrong).slice(0, 64))} is no run's id. Nothing was done.`)
  return runIds.map((id) => id.toLowerCase())
}

async function find(parts: Parts, filter: NonNullable<BulkRequest['filter']>): Promise<readonly string[]> {
  const found = await listRunIds(parts.ledger, { ...filter, namespace: parts.namespace }, mostFound + 1)
  if (found.length > mostFound) throw new PawlError('BULK_TOO_LARGE', `The filter finds over ${mostFound} runs. Narrow it (status, label, createdBefore). Nothing was done.`)
  return found
}

export async function bulkStatus(parts: Parts, id: string, page: PageOptions): Promise<Bulk> {
  const view = await getBulk(parts.ledger, id, parts.namespace)
  if (view === undefined) throw new PawlError('NOT_FOUND', `There is no bulk operation ${JSON.stringify(id.slice(0, 64))}.`)
  const { entries, cursor } = await listBulkRuns(parts.ledger, id, { limit: mostNamed, ...page })
  const { createdBy, ...rest } = view
  return { ...rest, by: createdBy, entries: entries.map((entry) => ({ runId: entry.runId, outcome: entry.outcome ?? 'open', detail: told(view.verb, entry) })), cursor }
}

function told(verb: BulkVerb, { outcome, detail }: BulkEntry): string | null {
  switch (outcome) {
    case null: return null
    case 'done': return detail
    case 'missing': return 'There is no such run.'
    case 'wrong_state': return `The run was ${detail}. ${waysOut[verb]}`
    case 'failed': return `It failed and the run is as it was (${detail}). Try this run by itself.`
  }
}

/** Goes on with what is left of bulk operations, of one or (null) of all, until nothing is or `signal` aborts. `ring` is told of runs that may have work again. */
export async function carryOutBulks(ledger: Ledger, bulkId: string | null, options: { ring: (runId: string) => Promise<void>; signal?: AbortSignal | undefined; lanes: number }): Promise<void> {
  const step = async (): Promise<boolean> => {
    const done = await stepBulk(ledger, bulkId)
    if (done?.outcome === 'done' && done.verb !== 'pause') await options.ring(done.runId)
    return done !== undefined
  }
  // One look first: there is mostly nothing to do.
  if (!(await step())) return
  await Promise.all(Array.from({ length: options.lanes }, async () => {
    while (!options.signal?.aborted && (await step())) { /* the next one */ }
  }))
}

/** Until every run of it is through: what others had in hand comes free in a moment. */
export async function seeThrough(parts: Pick<Parts, 'ledger' | 'namespace' | 'ring'>, bulkId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await carryOutBulks(parts.ledger, bulkId, { ring: parts.ring, signal, lanes: 1 })
    const bulk = await getBulk(parts.ledger, bulkId, parts.namespace)
    if (bulk === undefined || bulk.done + bulk.failed >= bulk.total) return
    await waitMs(1_000, signal)
  }
}
