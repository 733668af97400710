/**
 * Virtual worker processes that come and go: each a harness with a hook at every failpoint. A struck attempt stands still as a whole,
 * every call of it; it wakes as a zombie, or its worker is killed and replaced, with whatever else it was at.
 */
import { Harness, type AnyAgent, type FailpointName, type FailpointPlace, type Log } from '@pawl/harness'
import type { Ledger } from '@pawl/ledger'
import type { Queue } from '@pawl/queue'
import { shortTimings } from '../virtual-workers.ts'
import type { Observer } from './observer.ts'
import type { Strike, StrikePlan } from './strike-plan.ts'
import type { Tally } from './tally.ts'

export const timings = { ...shortTimings, sweepEveryMs: 200 }

export interface FleetParts {
  readonly ledger: Ledger
  readonly queue: Queue
  readonly agents: readonly AnyAgent[]
  readonly observer: Observer
  readonly plan: StrikePlan
  readonly tally: Tally
  readonly numberOf: (runId: string) => number | undefined
  readonly log: Log
}

interface Member {
  readonly harness: Harness
  isDead: boolean
  /** Attempts that stand still until this process is killed. */
  corpses: number
}

const mostStarts = 5
const never = (): Promise<void> => new Promise(() => {})
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const attemptOf = (place: FailpointPlace): string => `${place.runId}:${place.seq}:${place.epoch ?? 0}`

export class Fleet {
  #members: Member[] = []
  /** By attempt, when it goes on. */
  readonly #frozen = new Map<string, Promise<void>>()
  #started = 0

  constructor(private readonly parts: FleetParts) {}

  async start(workers: number): Promise<void> {
    for (let i = 0; i < workers; i++) await this.#add()
  }

  /** Its backend may be killed while it starts: then it starts again, as a supervisor would have it. */
  async #add(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#addOne()
      } catch (error) {
        if (tries === mostStarts) throw error
      }
    }
  }

  async #addOne(): Promise<void> {
    const { ledger, queue, agents, log } = this.parts
    let member: Member | undefined
    const harness = await Harness.start({
      ledger, queue, agents, concurrency: 400, roles: ['items', 'splits'], name: `chaos-${++this.#started}`, timings, log,
      failpoint: (name, place) => this.#pass(() => member, name, place),
    })
    this.#members.push(member = { harness, isDead: false, corpses: 0 })
  }

  #pass(memberNow: () => Member | undefined, name: FailpointName, place: FailpointPlace): void | Promise<void> {
    const member = memberNow()
    if (!member) return
    if (member.isDead) return never()
    if (name === 'before-settle') this.parts.tally.countUnsettled(place.tool ?? '')
    const asleep = this.#frozen.get(attemptOf(place))
    if (asleep) return asleep
    const strike = this.parts.plan.decide(name, place, this.parts.numberOf(place.runId))
    if (strike !== undefined) return this.#strike(member, strike, name, place)
  }

  #strike(member: Member, strike: Strike, name: FailpointName, place: FailpointPlace): Promise<void> {
    const { tally } = this.parts
    if (strike === 'stall') {
      tally.stalls++
      return pause(timings.sendWindowMs * 1.3)
    }
    tally.strike(name)
    this.parts.observer.struck(place)
    if (strike === 'throw') {
      tally.throws++
      return Promise.reject(new Error(`chaos at ${name}`))
    }
    tally.fault(strike)
    if (strike === 'crash') member.corpses++
    return this.#freeze(member, place, strike === 'crash' ? never() : this.#pastTheLease(place))
  }

  async #pastTheLease(place: FailpointPlace): Promise<void> {
    const { observer, tally } = this.parts
    const begunAt = performance.now()
    const elapsed = (): number => (performance.now() - begunAt) / timings.leaseMs
    while (elapsed() < 1.1 || (place.epoch !== undefined && !observer.isTakenOver(place) && elapsed() < 2.5)) await pause(50)
    // Some wake at once, some when the next holder has gone far.
    await pause(((place.seq * 7 + (place.epoch ?? 0) * 3) % 5) * 400)
    if (observer.isTakenOver(place)) tally.count('zombiesAfterTakeover')
  }

  /** An attempt of a run that is not struck otherwise stands still for good, wherever it is. */
  freezeForGood(place: FailpointPlace): void {
    for (const member of this.#members) {
      if (member.harness.attemptsOf(place.runId) === 0) continue
      member.corpses++
      void this.#freeze(member, place, never())
    }
  }

  /** The attempt does nothing, renews nothing and notices nothing until `thaw`; never again if its worker is killed meanwhile. */
  async #freeze(member: Member, place: FailpointPlace, thaw: Promise<void>): Promise<void> {
    member.harness.freeze(place)
    const until = thaw.then(() => (member.isDead ? never() : undefined))
    if (place.epoch !== undefined) this.#frozen.set(attemptOf(place), until)
    await until
    this.#frozen.delete(attemptOf(place))
    member.harness.freeze(place, false)
  }

  /** Kills the worker with the most attempts that stand still for good, and starts another in its place. False: none has any, and `always` is not asked for. */
  async replaceWorst(always: boolean): Promise<boolean> {
    const worst = this.#members.toSorted((a, b) => b.corpses - a.corpses)[0]
    if (!worst || (worst.corpses === 0 && !always)) return false
    this.#members = this.#members.filter((one) => one !== worst)
    if (worst.harness.running > worst.corpses) this.parts.tally.fault('workerKilled')
    worst.isDead = true
    this.parts.observer.workerDied(worst.harness.workerId)
    worst.harness.abandon()
    await this.#add()
    return true
  }

  touch(runId: string): void {
    for (const { harness } of this.#members) harness.touch(runId)
  }

  get running(): number {
    return this.#members.reduce((sum, { harness }) => sum + harness.running, 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ harness }) => harness.stop(3_000)))
  }
}
