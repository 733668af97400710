/**
 * The elected look for what nobody rang for: ended leases, items whose reason to wait is gone, due items without a job, runs with nothing open,
 * abandoned streams, an emptied queue, versions nobody serves. Every process runs one; the lease row lets one work. The lease is renewed by a completed cycle, adds
 * included, so a sweeper that reaches Postgres but not the queue loses it.
 */
import { limits, PawlError, waitMs } from '@pawl/core'
import { blockUnserved, dropStream, expireApprovals, forgetDispatch, freeLeases, holdSweeper, leaveSweeper, listAbandonedStreams, listOpenRuns, listUndelivered, listUnservedVersions, removeSilentWorkers, wakeItems } from '@pawl/ledger'
import { BoardRuns } from './board-runs.ts'
import { channelOf, dispatchRun, type DispatchParts } from './dispatch.ts'
import type { Log } from './parts.ts'
import type { Timings } from './timings.ts'
import { Unserved } from './unserved.ts'

/** Runs dispatched side by side: a cycle over a thousand runs is to take a second, not ten. */
const dispatchLanes = 4

/** Jobs asked for at once, and how often in one sweep while some of them are lost. */
const portion = 500
const mostPortions = 4

export class Sweeper {
  readonly #stopped = new AbortController()
  readonly #board: BoardRuns
  readonly #unserved: Unserved
  #isHolder = false
  /** The run that was dispatched last, by any cycle. */
  #last = ''
  #loop: Promise<void> = Promise.resolve()

  constructor(private readonly parts: DispatchParts, private readonly holder: string, private readonly timings: Timings, private readonly log: Log) {
    this.#board = new BoardRuns(parts.ledger, parts.queue)
    this.#unserved = new Unserved(timings.versionGraceMs)
  }

  start(): void {
    this.#loop = this.#run()
  }

  /** No further cycle begins. */
  pause(): void {
    this.#stopped.abort()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.race([this.#loop, new Promise((resolve) => setTimeout(resolve, 2_000).unref())])
    if (this.#isHolder) await leaveSweeper(this.parts.ledger, this.holder).catch(() => {})
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        if (await this.#elected()) await this.cycle()
      } catch (error) {
        this.log('warn', `a sweep broke off, the next one goes on: ${error instanceof Error ? error.message : String(error)}`, {})
      }
      await waitMs(this.timings.sweepEveryMs, this.#stopped.signal)
    }
  }

  async #elected(): Promise<boolean> {
    this.#isHolder = this.#isHolder || (await holdSweeper(this.parts.ledger, this.holder, this.timings.sweeperLeaseMs, false))
    return this.#isHolder
  }

  /** One look at everything. Also callable by tests and `doctor`. */
  async cycle(): Promise<void> {
    const { ledger, queue } = this.parts
    await freeLeases(ledger, null, this.timings.leaseMs)
    await expireApprovals(ledger)
    await wakeItems(ledger, null)
    if (!(await queue.checkMarker())) {
      const lost = await forgetDispatch(ledger, null)
      if (lost > 0) this.log('warn', `the queue's store was emptied: ringing again for ${lost} items`, {})
    }
    await this.#findUndelivered()
    for (const { runId, streamNo } of await listAbandonedStreams(ledger, limits.streamAbandonedAfterMs)) await dropStream(ledger, runId, streamNo)
    await removeSilentWorkers(ledger)
    await this.#blockUnserved()
    const open = (await listOpenRuns(ledger)).toSorted()
    await this.#dispatchAll(open)
    await this.#board.show(open)
    this.#isHolder = await holdSweeper(ledger, this.holder, this.timings.sweeperLeaseMs, true)
  }

  /** What waits for a version nobody has is shown as that, once a deploy would be over. */
  async #blockUnserved(): Promise<void> {
    for (const { agent, version } of this.#unserved.note(await listUnservedVersions(this.parts.ledger))) {
      const blocked = await blockUnserved(this.parts.ledger, agent, version)
      if (blocked > 0) this.log('warn', `nobody serves ${agent}@${version}: ${blocked} items wait for a worker that has it, or for "pawl run repin <run> --to <version>"`, { agent, version })
    }
  }

  /** Begins after the run at which the last cycle was: one that breaks off every time, at whatever run, has come to all of them in the end. */
  async #dispatchAll(open: readonly string[]): Promise<void> {
    const begin = open.findIndex((runId) => runId > this.#last)
    const waiting = [...open.slice(Math.max(begin, 0)), ...open.slice(0, Math.max(begin, 0))].values()
    const lanes = Array.from({ length: dispatchLanes }, async () => {
      for (const runId of waiting) await this.#dispatch(this.#last = runId)
    })
    const ended = await Promise.allSettled(lanes)
    const broken = ended.find((lane) => lane.status === 'rejected')
    if (broken) throw broken.reason
  }

  /** A run that cannot be rung for stands in nobody's way; a store that is away ends the cycle. */
  async #dispatch(runId: string): Promise<void> {
    try {
      await dispatchRun(this.parts, runId)
    } catch (error) {
      if (error instanceof PawlError && error.next === 'retry') throw error
      this.log('error', `a run cannot be dispatched: ${error instanceof Error ? error.message : String(error)}`, { run: runId })
    }
  }

  /**
   * In portions drawn anew, each within the queue's deadline however long the backlog is: one a sweep while nothing in it is lost, some more when
   * something is. A backlog that waits for its workers is no loss, and asking for all of it each time would keep the sweep from everything else.
   */
  async #findUndelivered(): Promise<void> {
    const { ledger, queue, ledgerId } = this.parts
    for (let portions = 0; portions < mostPortions; portions++) {
      const asked = await listUndelivered(ledger, this.timings.undeliveredAfterMs, portion)
      if (asked.length === 0) return
      const states = await queue.stateOf(asked.map((item) => ({ ...item, ledgerId, channel: channelOf(item) })))
      const lost = asked.filter((_, i) => states[i] !== 'live')
      if (lost.length === 0) return
      await forgetDispatch(ledger, lost)
    }
  }
}
