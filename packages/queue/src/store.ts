/** What differs between Redis and Postgres, behind one interface; everything above it is the same for both. */
import type { IQueueBackend, Processor, Queue, Worker, WorkerOptions } from 'bullmq'

export type JobQueue = Queue<unknown, unknown, string, unknown, unknown, string, IQueueBackend>
export type JobWorker = Worker<unknown, unknown, string, IQueueBackend>
export type WorkerSettings = Omit<WorkerOptions, 'connection' | 'prefix' | 'autorun'>

/** A worker on connections of its own, which wait for the server for ever. */
export interface OwnWorker {
  readonly worker: JobWorker
  /** Drops its connections at once, whatever state they are in. */
  destroy(): void
}

export interface Store {
  /** Resolves when the server answers and its tables, if it has any, are there. */
  answer(): Promise<void>
  /** What the server throws away when its memory is full; null where it throws nothing away, or does not say. */
  evictionPolicy(): Promise<string | null>
  /** The queue of that name on the producer's connection, which fails rather than waits. */
  queue(name: string): JobQueue
  /** Notes that these queues are in use, for `names`. */
  remember(names: readonly string[]): Promise<void>
  /** Queues that begin so. */
  names(start: string): Promise<string[]>
  /** Readiness is memoised by BullMQ, failed readiness too: after an error everything is built anew. */
  discard(): void
  /** The error says that the store was emptied down to its tables: build anew and try once more. */
  isEmptied(error: unknown): boolean
  buildWorker(name: string, processor: Processor<unknown, unknown, string>, settings: WorkerSettings): OwnWorker
  /** Fetches jobs by hand on the producer's connection. */
  buildFetcher(name: string): JobWorker
  close(): Promise<void>
}

/** How long a worker rests after a fetch that failed. BullMQ asks again at once unless the connection was refused. */
const restMs = 500

/** Keeps a worker from spinning through an outage. */
export function restAfterFailedFetch<B extends IQueueBackend>(backend: B): B {
  const fetch = backend.moveToActive.bind(backend)
  backend.moveToActive = async (...args) => {
    try {
      return await fetch(...args)
    } catch (error) {
      await new Promise((resolve) => { setTimeout(resolve, restMs) })
      throw error
    }
  }
  return backend
}

export const eventsKept = { events: { maxLen: 1_000 } } as const
