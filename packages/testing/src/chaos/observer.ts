/** What the chaos run knows of attempts, from the ledger's own answers: who claimed what at which epoch, which attempts were struck, which zombies woke too late. */
import type { FailpointPlace } from '@pawl/harness'
import type { Tally } from './tally.ts'

export interface SeenClaim {
  readonly runId: string
  readonly seq: number
  readonly epoch: number
  readonly kind: string
  /** Consecutive attempts without progress, this one included. */
  readonly barren: number
  readonly workerId: string
}

const placeOf = (place: { runId: string; seq: number }): string => `${place.runId}:${place.seq}`
const attemptOf = (place: { runId: string; seq: number; epoch?: number | undefined }): string => `${placeOf(place)}:${place.epoch ?? 0}`

export class Observer {
  readonly #claims = new Map<string, SeenClaim>()
  readonly #workerOf = new Map<string, string>()
  readonly #struck = new Set<string>()
  readonly #deadWorkers = new Set<string>()
  readonly #lastStruck = new Map<string, number>()
  readonly #onStrike = new Map<string, (() => void)[]>()

  constructor(private readonly tally: Tally) {}

  claimed(claim: SeenClaim): void {
    const place = placeOf(claim)
    if ((this.#claims.get(place)?.epoch ?? 0) >= claim.epoch) return
    const before = this.#claims.get(place)
    if (claim.kind === 'finalize' && before && this.wasStopped({ ...claim, epoch: before.epoch })) this.tally.count('finalizerTakeovers')
    this.#claims.set(place, claim)
    this.#workerOf.set(attemptOf(claim), claim.workerId)
  }

  claimOf(place: { runId: string; seq: number }): SeenClaim | undefined {
    return this.#claims.get(placeOf(place))
  }

  /** Somebody else has claimed the item since. */
  isTakenOver(place: FailpointPlace): boolean {
    return (this.claimOf(place)?.epoch ?? 0) > (place.epoch ?? Number.POSITIVE_INFINITY)
  }

  struck(place: FailpointPlace): void {
    this.#struck.add(attemptOf(place))
    this.#lastStruck.set(placeOf(place), (this.#lastStruck.get(placeOf(place)) ?? 0) + 1)
    for (const tell of this.#onStrike.get(place.runId) ?? []) tell()
    this.#onStrike.delete(place.runId)
  }

  strikesOf(place: FailpointPlace): number {
    return this.#lastStruck.get(placeOf(place)) ?? 0
  }

  workerDied(workerId: string): void {
    this.#deadWorkers.add(workerId)
  }

  /** The process of this attempt was frozen or killed while it was at it. */
  wasStopped(place: { runId: string; seq: number; epoch: number }): boolean {
    return this.#struck.has(attemptOf(place)) || this.#deadWorkers.has(this.#workerOf.get(attemptOf(place)) ?? '')
  }

  /** Resolves at the next strike at an attempt of the run. */
  nextStrike(runId: string): Promise<void> {
    return new Promise((resolve) => this.#onStrike.set(runId, [...(this.#onStrike.get(runId) ?? []), resolve]))
  }
}
