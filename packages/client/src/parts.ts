import { PawlError, type RunStatus } from '@pawl/core'
import { readRunState, type Ledger } from '@pawl/ledger'
import type { AnyAgentContract } from './agents.ts'
import type { QueueLoad } from './contract.ts'
import type { OnStarted } from './trace-start.ts'

/** What the direct client's verbs share. */
export interface Parts {
  readonly ledger: Ledger
  readonly agents: readonly AnyAgentContract[] | undefined
  readonly namespace: string
  /** Who is named in the events. */
  readonly actor: string
  /** Rings for what is due now. Never rejects: what was not rung for is found by the sweep. */
  readonly ring: (runId: string) => Promise<void>
  /** A stream silent for this long is dead, and the same key continues it. */
  readonly streamAliveMs: number
  /** Sees to it that a bulk operation is carried out, now or soon. */
  readonly carryOut: (bulkId: string) => void
  /** The queue's own counts, where there is a queue to ask. */
  readonly queues: (() => Promise<readonly QueueLoad[]>) | undefined
  /** W3C traceparent of the request this client serves; without one the caller's active span counts. */
  readonly traceParent?: string | undefined
  readonly onStarted?: OnStarted | undefined
}

export const defaultStreamAliveMs = 10_000
export const namespacePattern = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/

/** One answer for runs that do not exist and runs of others. */
export const unknownRun = (runId: string): PawlError =>
  new PawlError('NOT_FOUND', `There is no run ${JSON.stringify(runId.slice(0, 64))}. List the runs to find its id; one that was pruned is gone.`, 'tell')

export async function requireRun(parts: Pick<Parts, 'ledger' | 'namespace'>, runId: string): Promise<RunStatus> {
  const state = await readRunState(parts.ledger, runId, parts.namespace)
  if (state === undefined) throw unknownRun(runId)
  return state.status
}

export const unknownItem = (runId: string, seq: number): PawlError => new PawlError('NOT_FOUND', `Run ${runId} has no item ${seq}.`, 'tell')

export function checkReason(text: string | undefined, field: string): string | null {
  if (text === undefined) return null
  if (text.length > 2_000 || text.includes('\u0000') || /\p{Surrogate}/u.test(text)) throw new PawlError('BAD_TEXT', `${field} must be text of at most 2,000 characters without NUL.`)
  return text
}

