/** How much waits for workers: what scales a fleet and what the metrics show. From the ledger, since the queue holds no more than its window. */
import { eq, inArray, sql } from 'drizzle-orm'
import type { Ledger } from '../connect.ts'
import { actions, items, runs } from '../schema.ts'
import { readsOn } from './database.ts'

export interface Backlog {
  readonly agent: string
  readonly agentVersion: string
  /** May be worked on now. */
  readonly due: number
  /** Waits for its backoff or sleeps. */
  readonly delayed: number
  readonly inProgress: number
  readonly blocked: number
  /** Of paused runs, or of runs not yet sealed. */
  readonly held: number
}

export interface Doubts {
  readonly unsettled: number
  readonly inDoubt: number
  readonly oldestStartedAt: Date | null
}

export async function countBacklog(ledger: Ledger): Promise<Backlog[]> {
  const held = sql`(${runs.paused} or (${runs.status} = 'splitting' and ${items.kind} = 'work'))`
  const n = (where: ReturnType<typeof sql>, name: string) => sql<number>`count(*) filter (where ${where})`.mapWith(Number).as(name)
  return await readsOn(ledger).select({
    agent: runs.agent, agentVersion: runs.agentVersion,
    due: n(sql`${items.status} = 'pending' and not ${held} and ${items.availableAt} <= clock_timestamp()`, 'due'),
    delayed: n(sql`${items.status} = 'pending' and not ${held} and ${items.availableAt} > clock_timestamp()`, 'delayed'),
    inProgress: n(sql`${items.status} = 'in_progress'`, 'in_progress'),
    blocked: n(sql`${items.status} = 'blocked'`, 'blocked'),
    held: n(sql`${items.status} = 'pending' and ${held}`, 'held'),
  }).from(items).innerJoin(runs, eq(runs.id, items.runId)).where(inArray(items.status, ['pending', 'in_progress', 'blocked'])).groupBy(runs.agent, runs.agentVersion)
}

/** Runs by status and agent. */
export async function countRuns(ledger: Ledger): Promise<{ agent: string; status: string; runs: number }[]> {
  return await readsOn(ledger).select({ agent: runs.agent, status: runs.status, runs: sql<number>`count(*)`.mapWith(Number).as('runs') }).from(runs).groupBy(runs.agent, runs.status)
}

export async function countDoubts(ledger: Ledger): Promise<Doubts> {
  const [row] = await readsOn(ledger).select({
    unsettled: sql<number>`count(*) filter (where ${actions.status} = 'started')`.mapWith(Number).as('unsettled'),
    inDoubt: sql<number>`count(*) filter (where ${actions.status} = 'in_doubt')`.mapWith(Number).as('in_doubt'),
    oldestStartedAt: sql<Date | null>`min(${actions.startedAt})`.mapWith(actions.startedAt).as('oldest'),
  }).from(actions).where(inArray(actions.status, ['started', 'in_doubt']))
  return row ?? { unsettled: 0, inDoubt: 0, oldestStartedAt: null }
}
