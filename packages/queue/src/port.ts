/**
 * The doorbell. Nothing here is evidence of anything: a job says "look at this item", the ledger says what is true.
 * Both backends (redis, postgres) pass the same contract suite, `queue.testsuite.ts`.
 */
import type { JobQueue } from './store.ts'

/** All a job carries: ids only, never payloads. */
export interface Doorbell {
  readonly ledgerId: string
  readonly runId: string
  readonly seq: number
  readonly generation: number
}

/** Which queue rings for an item: one per agent and version; splits have their own, served by producers. */
export type Channel = { readonly kind: 'agent'; readonly agent: string; readonly version: string } | { readonly kind: 'split' }

export interface Ring extends Doorbell {
  readonly channel: Channel
  /** Takeovers go to the head of the queue. */
  readonly first: boolean
  /** Shown on the board. */
  readonly title: string
}

export type JobState = 'live' | 'missing' | 'ended'

export interface Subscription {
  /** Stops taking new jobs, waits up to `graceMs` for handlers under way, then closes for good. Never rejects, never hangs. */
  close(graceMs: number): Promise<void>
  /** Stops taking new jobs; handlers under way go on. */
  pause(): void
}

export interface QueueOptions {
  readonly backend: 'redis' | 'postgres'
  /** `redis://…`, or `postgres://…` of the database that holds the queue (schema `pawl_queue`). */
  readonly url: string
  readonly ledgerId: string
  /** Gets every connection error, throttled to one line per kind and 10 s. */
  readonly onError: (error: Error, where: string) => void
}

export interface Queue {
  readonly backend: 'redis' | 'postgres'
  /** Resolves when the store answers; rejects within 10 s with a `PawlError` `QUEUE_UNREACHABLE` that names the host, never the password. */
  ready(): Promise<void>
  /** Redis' `maxmemory-policy`; null where the store drops nothing, or does not say. Rejects within 5 s when it is down. */
  evictionPolicy(): Promise<string | null>
  /** Adds the jobs (job id = jobId(runId, seq, generation)). Rejects within 5 s when the store is down; adding an id twice is harmless. */
  ring(rings: readonly Ring[]): Promise<void>
  /** Job by job, in order: still coming (waiting, delayed, prioritized, active), missing, or ended (completed, failed). Rejects within 5 s. */
  stateOf(rings: readonly (Doorbell & { readonly channel: Channel })[]): Promise<JobState[]>
  /** Takes jobs. The handler gets one doorbell at a time per slot, up to `concurrency` at once; a thrown error only fails the job, a result is not kept. Resolves at once; while the store is down it goes on trying. */
  subscribe(channel: Channel, concurrency: number, handler: (bell: Doorbell, board: BoardJob) => Promise<unknown>): Promise<Subscription>
  /**
   * A key in the queue's store, set once. False: the store was emptied (or is new) since it was set, and was marked again.
   * The caller then rings again for everything due.
   */
  checkMarker(): Promise<boolean>
  /** One job per run in queue `pawl-<short>-runs`: delayed while the run lives, completed when it ended. Its progress is the object given. Best effort, never rejects. */
  showRun(runId: string, title: string, progress: { done: number; failed: number; blocked: number; total: number }, ended: boolean): Promise<void>
  /** This ledger's queues that exist now, for the board. */
  names(): Promise<QueueName[]>
  /** Jobs of each of `names` by state; `waiting` holds the prioritized ones, too. Rejects within 5 s. */
  count(): Promise<QueueCount[]>
  /**
   * BullMQ's own object for one of `names`, for the board. It lives until the next outage and is then another: ask again
   * rather than keep it, and never close it. Throws `BAD_QUEUE_NAME` for the queue of another ledger.
   */
  boardQueue(name: string): BoardQueue
  /** Closes the subscriptions too, without grace: close those first. Never rejects, never hangs; later calls reject with `QUEUE_CLOSED`. */
  close(): Promise<void>
}

/** Every member BullMQ's board tools use. */
export type BoardQueue = JobQueue

export interface QueueName {
  /** As BullMQ knows it. */
  readonly name: string
  /** Undefined for the queue that shows runs. */
  readonly channel: Channel | undefined
}

export interface QueueCount extends QueueName {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** What the board shows about the job in hand. Best effort: errors are swallowed. */
export interface BoardJob {
  progress(committedActions: number): void
  log(line: string): void
}
