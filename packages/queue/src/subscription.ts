/**
 * Takes jobs of one queue until it is told to stop. A worker that cannot start, or whose loop dies, is replaced;
 * BullMQ's lock is not looked at (the ledger's lease decides), and stalling never fails a job.
 */
import { PawlError, recordError } from '@pawl/core'
import { WaitingError, type Job } from 'bullmq'
import { openBoardJob } from './board-job.ts'
import { readDoorbell } from './doorbell.ts'
import { settleWithin } from './failures.ts'
import type { BoardJob, Doorbell, Subscription } from './port.ts'
import type { OwnWorker, Store } from './store.ts'

const settings = { lockDuration: 6_000, stalledInterval: 2_500, maxStalledCount: 1_000_000, runRetryDelay: 1_000 } as const
const rebuildAfterMs = 1_000
const closingMs = 2_000

export interface SubscriptionOptions {
  readonly store: Store
  readonly name: string
  readonly ledgerId: string
  readonly concurrency: number
  readonly handler: (bell: Doorbell, board: BoardJob) => Promise<unknown>
  readonly onError: (error: unknown, where: string) => void
}

export function startSubscription(options: SubscriptionOptions): Subscription {
  const { store, name, ledgerId, concurrency, handler, onError } = options
  const underWay = new Set<Promise<unknown>>()
  let isStopped = false
  let tellStopped: () => void = () => undefined
  const stopping = new Promise<void>((resolve) => { tellStopped = resolve })
  let current: OwnWorker | undefined
  let closed: Promise<void> | undefined

  function stop(): void {
    isStopped = true
    tellStopped()
    void current?.worker.pause(true).catch(() => undefined)
  }

  /** A worker that was waiting when it was paused still takes one job: it goes back untouched. */
  async function handBack(job: Job, token: string | undefined): Promise<never> {
    await job.moveToWait(token)
    throw new WaitingError()
  }

  async function process(job: Job, token: string | undefined): Promise<void> {
    if (isStopped) await handBack(job, token)
    const bell = readDoorbell(job.data, job.id)
    if (bell.ledgerId !== ledgerId) {
      stop()
      onError(new PawlError('WRONG_LEDGER', `Queue ${name} holds job "${job.id ?? '?'}" of ledger ${bell.ledgerId}, but this worker serves ${ledgerId}. It takes no more jobs. Give each ledger a store of its own.`), name)
      await handBack(job, token)
    }
    const work = Promise.resolve().then(() => handler(bell, openBoardJob(job)))
    underWay.add(work)
    try {
      await work
    } catch (error) {
      // The ledger has the whole story; the job gets a line of it, no stack and no payload.
      throw new Error(recordError(error).message.slice(0, 300))
    } finally {
      underWay.delete(work)
    }
  }

  async function keepRunning(): Promise<void> {
    while (!isStopped) {
      const built = store.buildWorker(name, process, { ...settings, concurrency })
      current = built
      built.worker.on('error', (error) => { onError(error, name) })
      try {
        await Promise.race([built.worker.waitUntilReady(), stopping])
        if (!isStopped) await built.worker.run()
      } catch (error) {
        onError(error, name)
      }
      if (isStopped) return
      await settleWithin(built.worker.close(true), closingMs)
      built.destroy()
      await settleWithin(stopping, rebuildAfterMs)
    }
  }
  const running = keepRunning()

  return {
    pause: stop,
    close(graceMs) {
      closed ??= (async () => {
        stop()
        const isIdle = await settleWithin(Promise.allSettled(underWay), graceMs)
        if (current !== undefined) {
          await settleWithin(current.worker.close(!isIdle), closingMs)
          current.destroy()
        }
        await settleWithin(running, closingMs)
      })()
      return closed
    },
  }
}
