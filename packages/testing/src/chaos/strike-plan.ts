/** Where an attempt is struck, and how: drawn from the seed, the run's number, the failpoint, the tool and the how-manieth arrival there. */
import type { FailpointName, FailpointPlace } from '@pawl/harness'
import type { Chance } from './chance.ts'
import type { Observer } from './observer.ts'

/** `crash`: stands still until its worker is killed. `freeze`: past the lease, and then it wakes. `stall`: past the send window only. */
export type Strike = 'crash' | 'freeze' | 'stall' | 'throw'

/** Rarely passed places are struck more often, or a run would prove nothing about them. */
const shares: Readonly<Record<FailpointName, number>> = {
  'before-claim': 0.02, 'after-claim': 0.04, 'before-intent': 0.03, 'after-intent': 0.06, 'before-send': 0.06, 'after-answer': 0.08, 'after-completion': 0.04,
  'before-finish': 0.06, 'after-finish': 0.04, 'between-undos': 0.6, 'before-settle': 0.05, 'before-seal': 0.5,
  'after-decision': 0.12, 'after-turn': 0.12, 'before-request': 0.05, 'after-request': 0.05,
}
const mostPerItem = 4
/** One finalizer among many items, one undo among many calls: what becomes of them must occur as well. */
const rareFactor = 2

export class StrikePlan {
  readonly #arrivals = new Map<string, number>()

  constructor(private readonly chance: Chance, private readonly observer: Observer, private readonly pressure: () => number) {}

  /** @param n the run's number, undefined for runs that are left alone. */
  decide(name: FailpointName, place: FailpointPlace, n: number | undefined): Strike | undefined {
    if (n === undefined) return undefined
    const where = `${n}|${place.seq}|${name}|${place.tool ?? ''}`
    const arrival = (this.#arrivals.get(where) ?? 0) + 1
    this.#arrivals.set(where, arrival)
    const claim = this.observer.claimOf(place)
    // A third attempt without progress has a process to itself; that is another test's matter.
    if (this.observer.strikesOf(place) >= mostPerItem || (claim !== undefined && claim.epoch === place.epoch && claim.barren >= 2)) return undefined
    const share = shares[name] * this.pressure() * (claim?.kind === 'finalize' || place.tool?.endsWith('.undo') ? rareFactor : 1)
    if (!this.chance.happens(share, 'strike', where, arrival)) return undefined
    const how = this.chance.draw('how', where, arrival)
    if (name === 'before-claim') return how < 0.85 ? 'freeze' : 'throw'
    return how < 0.25 ? 'crash' : how < 0.82 ? 'freeze' : how < 0.92 && (name === 'after-intent' || name === 'before-send') ? 'stall' : how < 0.92 ? 'freeze' : 'throw'
  }
}
