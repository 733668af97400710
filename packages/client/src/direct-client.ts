/** The client on the ledger itself. One object per namespace and actor; they share the connection. */
import { PawlError, waitMs } from '@pawl/core'
import { getAction, getItem, getRun, listActions, listEvents, listInbox, listItems, listRuns, type Ledger } from '@pawl/ledger'
import type { AnyAgentContract } from './agents.ts'
import { answer } from './answer.ts'
import { decide } from './approve.ts'
import { approvalVerbs } from './approval-verbs.ts'
import type { PawlClient, QueueLoad, StartOptions } from './contract.ts'
import { actionOf, inboxOf, itemOf, runOf } from './from-ledger.ts'
import { bulk, bulkStatus, seeThrough } from './bulk.ts'
import { exportRun } from './export-run.ts'
import { attempts, countRuns, failures, fleet, pace, spent, squares, tools, turns } from './looks.ts'
import { defaultStreamAliveMs, namespacePattern, requireRun, unknownItem, unknownRun, type Parts } from './parts.ts'
import { repin } from './repin.ts'
import { cancel, compensate, pause, resume } from './run-verbs.ts'
import { setBudget } from './set-budget.ts'
import { releaseItem, settle, unknownAction } from './settle.ts'
import { showBrief } from './show-brief.ts'
import { startRun } from './start-run.ts'
import { startRunFromStream } from './stream-run.ts'
import { watchRun } from './watch-run.ts'

/** A queue that is down must not hold up the answer: the run is in the ledger. */
const ringWithinMs = 1_000

export interface DirectOptions {
  readonly ledger: Ledger
  /** Without: agents by name are taken at their word, and their inputs are not checked. */
  readonly agents?: readonly AnyAgentContract[] | undefined
  /** Default `default`. */
  readonly namespace?: string | undefined
  /** Named in every event. Default `client`. */
  readonly actor?: string | undefined
  /** Rings the queue for what is due in a run. Without, or when it fails, the sweep does within a second or two. */
  readonly dispatch?: ((runId: string) => Promise<void>) | undefined
  readonly onDispatchError?: ((error: unknown, runId: string) => void) | undefined
  /** A stream of items silent for this long counts as dead. Default 10 s. */
  readonly streamAliveMs?: number | undefined
  /** Told of each bulk operation, by who carries them out (a producer does). Without, this client does, and producers go on with what it leaves. */
  readonly onBulk?: ((bulkId: string) => void) | undefined
  /** Counts of the queue's jobs, for `fleet()`. Without, or when it fails, `fleet()` says null. */
  readonly queues?: (() => Promise<readonly QueueLoad[]>) | undefined
  /** W3C traceparent of the request this client serves: runs it starts go on in that trace. */
  readonly traceParent?: string | undefined
  /** Told of each new run, with the traceparent kept with it. */
  readonly onStarted?: Parts['onStarted']
  readonly close?: (() => Promise<void>) | undefined
}

/** Throws `BAD_NAMESPACE`. */
export function createDirectClient(options: DirectOptions): PawlClient {
  const { ledger, namespace = 'default', dispatch, onDispatchError } = options
  if (!namespacePattern.test(namespace)) throw new PawlError('BAD_NAMESPACE', `The namespace ${JSON.stringify(namespace.slice(0, 64))} must be 1-64 characters of a-z, 0-9, ".", "-", "_" and begin and end with a letter or digit.`)
  const ring = async (runId: string): Promise<void> => {
    if (dispatch === undefined) return
    const rung = new AbortController()
    const ringing = dispatch(runId).catch((error: unknown) => onDispatchError?.(error, runId)).finally(() => rung.abort())
    await Promise.race([ringing, waitMs(ringWithinMs, rung.signal)])
  }
  const closing = new AbortController()
  const carrying = new Set<Promise<unknown>>()
  const carryOut = (bulkId: string): void => {
    // What it leaves undone (the ledger is away, the client is closed) is in the ledger, for the next producer.
    const work: Promise<unknown> = seeThrough({ ledger, namespace, ring }, bulkId, closing.signal).catch(() => undefined).finally(() => carrying.delete(work))
    carrying.add(work)
  }
  const parts: Parts = {
    ledger, namespace, agents: options.agents, actor: options.actor ?? 'client', streamAliveMs: options.streamAliveMs ?? defaultStreamAliveMs, queues: options.queues, ring,
    traceParent: options.traceParent, onStarted: options.onStarted,
    carryOut: options.onBulk ?? carryOut,
  }
  const readRun = async (runId: string) => {
    const run = await getRun(ledger, runId, namespace)
    if (run === undefined) throw unknownRun(runId)
    return runOf(run)
  }
  return {
    startRun: (agent: AnyAgentContract | string, input: unknown, given: StartOptions = {}) => startRun(parts, agent, input, given),
    startRunFromStream: (header, items, given = {}) => startRunFromStream(parts, header, items, given.idempotencyKey),
    getRun: readRun,
    async listRuns(filter = {}) {
      const page = await listRuns(ledger, { ...filter, namespace })
      return { ...page, entries: page.entries.map(runOf) }
    },
    countRuns: (filter = {}) => countRuns(parts, filter),
    squares: (runId) => squares(parts, runId),
    failures: (runId) => failures(parts, runId),
    pace: (runId, given = {}) => pace(parts, runId, given),
    spent: (runId) => spent(parts, runId),
    async listItems(runId, filter = {}) {
      await requireRun(parts, runId)
      const page = await listItems(ledger, runId, filter)
      return { ...page, entries: page.entries.map(itemOf) }
    },
    async getItem(runId, seq) {
      await requireRun(parts, runId)
      const item = await getItem(ledger, runId, seq)
      if (item === undefined) throw unknownItem(runId, seq)
      return itemOf(item)
    },
    attempts: (runId, seq) => attempts(parts, runId, seq),
    turns: (runId, seq) => turns(parts, runId, seq),
    brief: (runId, seq, given = {}) => showBrief(parts, runId, seq, given),
    async listActions(runId, filter = {}) {
      await requireRun(parts, runId)
      const page = await listActions(ledger, runId, filter)
      return { ...page, entries: page.entries.map(actionOf) }
    },
    async getAction(runId, actionId) {
      await requireRun(parts, runId)
      const action = await getAction(ledger, runId, actionId)
      if (action === undefined) throw unknownAction(runId, actionId)
      return actionOf(action)
    },
    async listEvents(runId, filter = {}) {
      await requireRun(parts, runId)
      return await listEvents(ledger, runId, filter)
    },
    watch: (runId, given) => watchRun(() => readRun(runId), given),
    setBudget: (runId, request) => setBudget(parts, runId, request),
    pause: (runId, options = {}) => pause(parts, runId, options),
    resume: (runId, given = {}) => resume(parts, runId, given),
    cancel: (runId, given = {}) => cancel(parts, runId, given),
    compensate: (runId, given = {}) => compensate(parts, runId, given),
    repin: (runId, given) => repin(parts, runId, given),
    bulk: (request, given = {}) => bulk(parts, request, given),
    bulkStatus: (bulkId, page = {}) => bulkStatus(parts, bulkId, page),
    exportRun: (runId) => exportRun(parts, () => readRun(runId)),
    async inbox(filter = {}) {
      if (filter.runId !== undefined) await requireRun(parts, filter.runId)
      const page = await listInbox(ledger, { ...filter, namespace })
      return { ...page, entries: page.entries.map(inboxOf) }
    },
    settle: (runId, actionId, settlement) => settle(parts, runId, actionId, settlement),
    answer: (runId, questionId, value, given) => answer(parts, runId, questionId, value, given),
    ...approvalVerbs((runId, decisions) => decide(parts, runId, decisions)),
    releaseItem: (runId, seq, verb, given = {}) => releaseItem(parts, runId, seq, verb, given),
    fleet: () => fleet(parts),
    tools: async () => tools(parts),
    close: async () => {
      closing.abort()
      await Promise.all(carrying)
      await options.close?.()
    },
  }
}
