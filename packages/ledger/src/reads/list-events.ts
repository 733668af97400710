import { isUuid } from '@pawl/core'
import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Ledger } from '../connect.ts'
import { events } from '../schema.ts'
import { readsOn } from './database.ts'
import { limitOf } from './pages.ts'

export interface EventView {
  readonly runId: string
  readonly id: number
  readonly itemSeq: number | null
  /** `run.created`, `item.blocked`, `action.answered`, … */
  readonly kind: string
  readonly actor: string
  readonly data: unknown
  readonly at: Date
}

export interface EventRequest {
  /** The last event already seen. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
  /**
   * Only events older than this. An event's number is taken before it is committed, so a reader that follows the tail by number
   * and does not wait could step over one that is still on its way.
   */
  readonly settledMs?: number | undefined
}

/** Of one run, oldest first. */
export async function listEvents(ledger: Ledger, runId: string, request: EventRequest = {}): Promise<EventView[]> {
  const limit = limitOf(request)
  if (!isUuid(runId)) return []
  return await readsOn(ledger).select().from(events).where(and(
    eq(events.runId, runId),
    request.after === undefined ? undefined : gt(events.id, request.after),
    request.settledMs === undefined ? undefined : sql`${events.at} < clock_timestamp() - make_interval(secs => ${request.settledMs / 1_000}::double precision)`,
  )).orderBy(asc(events.id)).limit(limit)
}
