/** `PawlClient`: what a calling service needs, the same against the ledger and over HTTP. Both pass `client.testsuite.ts`. */
import type { ActionStatus, BlockedReason, ItemKind, ItemStatus, RunStatus } from '@pawl/core'
import type { BudgetLimits, BulkVerb, OpenTransaction, ShownBlock } from '@pawl/ledger'
import type { AgentContract } from './agents.ts'
import type { BudgetRequest } from './set-budget.ts'
import type { Action, ApprovalDecision, BriefView, InboxItem, Item, Preview, Question, RepinAnswer, RepinPreview, Run, RunEvent, StartedRun, VerbAnswer } from './wire.ts'
import type { Bulk, BulkStarted } from './wire-bulk.ts'
import type { ExportLine } from './wire-export.ts'
import type { Attempts, Failures, Fleet, Pace, RunCounts, Spent, Squares, Tools, Turns } from './wire-looks.ts'

export interface ItemSeed<P = unknown> {
  /** Unique in its run, 1 to 300 characters. */
  readonly key: string
  readonly payload: P
  /** Where a streamed item stands in its source ("Line 12"), for what is said about it. */
  readonly where?: string | undefined
}

export interface RunPolicyRequest {
  readonly onFailure?: 'hold' | 'complete' | 'compensate' | undefined
  readonly maxFailures?: number | undefined
  readonly maxConcurrency?: number | undefined
  /** What the models of the run may spend, all its items together: turns, tokens, cost, wallMs. Spent, its items block with `budget`. */
  readonly budget?: BudgetLimits | undefined
  /** The same for each item; overrides what its loop says. */
  readonly itemBudget?: BudgetLimits | undefined
  readonly approval?: {
    /** How long a request for a person's yes waits, in milliseconds. */
    readonly expiresMs?: number | undefined
    /** Who starts the run may not say yes to its calls. What the agent's policy asks for cannot be switched off here. */
    readonly notByRequester?: boolean | undefined
  } | undefined
}

export interface StartOptions<P = unknown> {
  /** Starting twice under one key is one run; the same key with another request is refused (`IDEMPOTENCY_CONFLICT`). 1 to 255 characters, per namespace. */
  readonly idempotencyKey?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Items in place of the agent's `split`; an empty list is a run without items. */
  readonly items?: readonly ItemSeed<P>[] | undefined
  /** Of an agent given by name; default: the newest known. */
  readonly version?: string | undefined
  /** Overrides the agent's. */
  readonly policy?: RunPolicyRequest | undefined
  /** The query function of the caller's own open transaction on the ledger's database: the run is there when it commits. Direct clients only. */
  readonly tx?: OpenTransaction | undefined
}

/** First line of a streamed run. */
export interface StreamHeader {
  readonly agent: string
  readonly version?: string | undefined
  readonly input?: unknown
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly policy?: RunPolicyRequest | undefined
}

export interface Page<T> {
  readonly entries: readonly T[]
  /** Of the next page; null at the last. */
  readonly cursor: string | null
}

export interface PageOptions {
  readonly cursor?: string | undefined
  /** 1 to 1,000; default 100. A page that holds some megabytes ends before. */
  readonly limit?: number | undefined
}

/** Which runs are meant. All of it must hold. */
export interface RunsFilter {
  readonly agent?: string | undefined
  /** Any of them. */
  readonly status?: RunStatus | readonly RunStatus[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The beginning of an id (4 characters at least), a label's whole value, or an idempotency key. */
  readonly search?: string | undefined
  /** From this moment on. */
  readonly createdAfter?: Date | undefined
  /** Until before this moment. */
  readonly createdBefore?: Date | undefined
  readonly paused?: boolean | undefined
}

/** The runs are named, 1 to 1,000 of them, or found by a filter with at least one member, 10,000 at most: those it finds when it is asked. */
export interface BulkRequest {
  readonly verb: BulkVerb
  readonly runIds?: readonly string[] | undefined
  readonly filter?: RunsFilter | undefined
  readonly reason?: string | undefined
}

/** One queue, as its store counts it; agent and version are null for the queue of splits and the board's queue of runs. */
export interface QueueLoad {
  readonly name: string
  readonly agent: string | null
  readonly version: string | null
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** Who is asked to move, and why it does not. */
export interface Progress {
  readonly status: RunStatus
  readonly paused: boolean
  readonly total: number
  readonly pending: number
  readonly inProgress: number
  readonly done: number
  readonly failed: number
  readonly blocked: number
  readonly blockedReasons: Readonly<Partial<Record<BlockedReason, number>>>
}

export interface VerbOptions {
  /** Changes nothing; says what would be skipped, called again, verified, asked and undone. */
  readonly dryRun?: boolean | undefined
  readonly reason?: string | undefined
}

export interface ReleaseOptions {
  readonly note?: string | undefined
  readonly newCalls?: boolean | undefined
  readonly shown?: ShownBlock | undefined
}

export interface BriefRequest {
  /** Of the prompt. Default: what the agent's loop was given, else 30,000. */
  readonly tokens?: number | undefined
}

export interface RepinOptions {
  /** The agent version the run goes on with. */
  readonly to: string
  /** Changes nothing; says what the new version would not recognise. */
  readonly dryRun?: boolean | undefined
  /** Also to a version that no live worker and no known agent has. */
  readonly force?: boolean | undefined
  readonly reason?: string | undefined
}

export interface DoubtSettlement {
  readonly answer: 'happened' | 'did_not' | 'abandon'
  /** What the call returned, with `happened`; the agent gets it. */
  readonly result?: unknown
  /** The attempt and the number of evidence entries that were looked at: an answer to anything older is refused (`DOUBT_CHANGED`). */
  readonly attempt: number
  readonly evidence: number
  readonly note?: string | undefined
}

/** A call exactly as the inbox showed it. */
export interface ShownCall {
  readonly actionId: number
  readonly digest: string
}

export interface ApprovalDecisions {
  readonly approve?: readonly ShownCall[] | undefined
  readonly reject?: readonly ShownCall[] | undefined
  /** Kept with the decision; an agent whose call is rejected reads it. */
  readonly note?: string | undefined
}

export interface PawlClient {
  startRun<I, P>(agent: AgentContract<I, P>, input: I, options?: StartOptions<P>): Promise<StartedRun>
  startRun(agent: string, input: unknown, options?: StartOptions): Promise<StartedRun>
  /** For runs too big for one request. All of it is accepted, or nothing. */
  startRunFromStream(header: StreamHeader, items: AsyncIterable<ItemSeed> | Iterable<ItemSeed>, options?: { idempotencyKey?: string | undefined }): Promise<StartedRun>
  getRun(runId: string): Promise<Run>
  /** Newest first. */
  listRuns(filter?: PageOptions & RunsFilter): Promise<Page<Run>>
  /** Runs by status under the filter, and how much waits for people in all. */
  countRuns(filter?: Omit<RunsFilter, 'status'>): Promise<RunCounts>
  /** The run as a picture, one letter per work item. */
  squares(runId: string): Promise<Squares>
  /** Failed and blocked items, grouped by why. */
  failures(runId: string): Promise<Failures>
  /** What its models took so far. */
  spent(runId: string): Promise<Spent>
  /** Of the last `minutes` (1 to 1,440, default 60). */
  pace(runId: string, options?: { minutes?: number | undefined }): Promise<Pace>
  /** Values over 64 kB are left out of lists. */
  listItems(runId: string, filter?: PageOptions & { status?: ItemStatus | undefined; kind?: ItemKind | undefined }): Promise<Page<Item>>
  getItem(runId: string, seq: number): Promise<Item>
  /** Each claim of the item, oldest first. */
  attempts(runId: string, seq: number): Promise<Attempts>
  /** What a model decided in the item, the first thousand turns; decisions over 64 kB are left out. */
  turns(runId: string, seq: number): Promise<Turns>
  /** What a model is shown next of an item; of an item at work, as of now. */
  brief(runId: string, seq: number, options?: BriefRequest): Promise<BriefView>
  /** Values over 64 kB are left out of lists; of the evidence there are as many entries as ever. */
  listActions(runId: string, filter?: PageOptions & { itemSeq?: number | undefined; status?: ActionStatus | undefined }): Promise<Page<Action>>
  /** One call, its values whole. */
  getAction(runId: string, actionId: number): Promise<Action>
  /** Oldest first. Over HTTP those that are a second old, so that who goes on after the last one misses none; of the ledger itself those that are there, and an earlier one may still be on its way. */
  listEvents(runId: string, filter?: { after?: number | undefined; limit?: number | undefined }): Promise<readonly RunEvent[]>
  /** Yields at every change. Ends when the run has ended, or when only items that wait for a person are left. */
  watch(runId: string, options?: { everyMs?: number | undefined; signal?: AbortSignal | undefined }): AsyncIterable<Progress>
  /** Nothing new is begun; calls under way run to their end. A `reason`, here and below, is kept with the event. */
  pause(runId: string, options?: Pick<VerbOptions, 'reason'>): Promise<VerbAnswer>
  /** Unpauses; sends the failed and cancelled items of an ended run round again. Never repeats what is committed. */
  resume(runId: string, options?: VerbOptions): Promise<VerbAnswer | Preview>
  cancel(runId: string, options?: VerbOptions): Promise<VerbAnswer | Preview>
  compensate(runId: string, options?: VerbOptions): Promise<VerbAnswer | Preview>
  /** Other limits for what its models may spend; those not named stay. Items that wait for it go on. */
  setBudget(runId: string, request: BudgetRequest): Promise<VerbAnswer>
  /** Moves a run to another agent version, its model, prompt and tools with it. Audited; needs no pause: what is in progress is handed back at its next call. */
  repin(runId: string, options: RepinOptions): Promise<RepinAnswer | RepinPreview>
  /** One verb for many runs, carried out one by one whatever happens to who began it; each run once. `bulkStatus` follows it. */
  bulk(request: BulkRequest, options?: { idempotencyKey?: string | undefined }): Promise<BulkStarted>
  /** With a page of its runs; 1,000 where no limit is said. */
  bulkStatus(bulkId: string, page?: PageOptions): Promise<Bulk>
  /** Everything the ledger has of a run, values whole; the last line counts the others. The reader sets the pace. */
  exportRun(runId: string): AsyncIterable<ExportLine>
  /** What waits for a person. Of a call in doubt values over 64 kB are left out (`getAction` has them); the arguments of a call that needs a yes are whole. */
  inbox(filter?: PageOptions & { runId?: string | undefined }): Promise<Page<InboxItem>>
  /** A person's word about an action in doubt. */
  settle(runId: string, actionId: number, settlement: DoubtSettlement): Promise<Action>
  /**
   * A person's answer to a question of an agent, as plain JSON; checked against the question's JSON Schema before it is written (`BAD_ANSWER` names the
   * member). Answered once: whoever is later is told who was first, and when (`QUESTION_ANSWERED`).
   */
  answer(runId: string, questionId: number, value: unknown, options?: { note?: string | undefined }): Promise<Question>
  /**
   * A person's yes to a call, bound to what was shown: another call under the same action is refused (`APPROVAL_CHANGED`). Decided once: whoever is
   * later is told who was first, and when (`APPROVAL_DECIDED`). Of a list each entry says what became of it, and nothing is thrown for one.
   */
  approve(runId: string, call: ShownCall, options?: { note?: string | undefined }): Promise<ApprovalDecision>
  approve(runId: string, calls: readonly ShownCall[], options?: { note?: string | undefined }): Promise<readonly ApprovalDecision[]>
  /** A person's no: the call is never sent, and the agent gets `Rejected`. */
  reject(runId: string, call: ShownCall, options?: { note?: string | undefined }): Promise<ApprovalDecision>
  reject(runId: string, calls: readonly ShownCall[], options?: { note?: string | undefined }): Promise<readonly ApprovalDecision[]>
  /** Yes to some and no to others at once. A call in both refuses the whole (`BAD_DECISION`). */
  decideApprovals(runId: string, decisions: ApprovalDecisions): Promise<readonly ApprovalDecision[]>
  /**
   * A person lets one blocked item go on, or ends it. `newCalls`: what a diverged item asks for now are new calls. `shown`: what the inbox showed of it;
   * an item that went on meanwhile, and is blocked anew, is left alone (`BLOCK_CHANGED`).
   */
  releaseItem(runId: string, seq: number, verb: 'resume' | 'fail', options?: ReleaseOptions): Promise<Item>
  /** Workers, queues, what waits, and where ledger and queue differ; of the whole ledger, whatever the namespace. */
  fleet(): Promise<Fleet>
  /** The agents this client (over HTTP: the producer) was given, with their tools. */
  tools(): Promise<Tools>
  close(): Promise<void>
}
