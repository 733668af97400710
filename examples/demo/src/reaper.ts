/** Kills at random moments of the run, while a call is in flight or, where a model decides, while it thinks: worker by worker, and once everything, Postgres included. */
import type { Ledger } from '@pawl/ledger'
import { listHeld, listHolders, listWorkers, type Held, type InFlight, type Moment } from './facts.ts'
import { kill, type Fleet } from './fleet.ts'

export interface Kill {
  readonly atMs: number
  readonly what: 'worker' | 'everything'
  readonly held: readonly Held[]
  readonly inFlight: readonly InFlight[]
  /** Committed actions of the run by then: what a restart from the top would do again. */
  readonly committed: number
}

export interface ReaperOptions {
  readonly workers: number
  readonly everything: boolean
  readonly between: readonly [number, number]
  readonly expectedActions: number
  /** After the first, not only while a call is in flight. */
  readonly anyMoment?: boolean
}

export class Reaper {
  readonly kills: Kill[] = []
  readonly #plan: { readonly at: number; readonly what: Kill['what'] }[]
  readonly #anyMoment: boolean

  constructor(options: ReaperOptions, private readonly random: () => number) {
    this.#anyMoment = options.anyMoment ?? false
    const [from, to] = options.between
    const all = options.workers + (options.everything ? 1 : 0)
    // One in each stretch, at a random place in it, so that they spread over the run; the blackout is one of the later ones.
    const blackout = options.everything ? Math.floor(all / 2) + Math.floor(random() * Math.ceil(all / 3)) : -1
    this.#plan = Array.from({ length: all }, (_, i) => ({
      at: Math.floor(options.expectedActions * (from + ((to - from) * (i + random())) / all)), what: i === blackout ? 'everything' as const : 'worker' as const,
    }))
  }

  get isDone(): boolean {
    return this.#plan.length === 0
  }

  /** Kills when the next moment has come and a call is in flight (or, at any moment, an item held). Returns what it killed. */
  async strike(ledger: Ledger, runId: string, moment: Moment, fleet: Fleet, killStore: () => Promise<void>): Promise<Kill | undefined> {
    const next = this.#plan[0]
    if (!next || moment.committed < next.at) return undefined
    const choice: readonly { readonly pid: number; readonly workerId: string }[] = this.#anyMoment && this.kills.length > 0 ? await listHolders(ledger, runId) : moment.inFlight
    const victim = choice[Math.floor(this.random() * choice.length)]
    if (!victim) return undefined
    const workers = next.what === 'everything' ? await listWorkers(ledger) : [{ id: victim.workerId, pid: victim.pid }]
    const held = await listHeld(ledger, runId, workers.map((worker) => worker.id))
    const inFlight = moment.inFlight.filter((call) => workers.some((worker) => worker.id === call.workerId))
    const atMs = Date.now()
    if (next.what === 'everything') {
      await Promise.all([fleet.killAll(workers.map((worker) => worker.pid)), killStore()])
    } else if (!kill(victim.pid)) return undefined
    this.#plan.shift()
    const done: Kill = { atMs, what: next.what, held, inFlight, committed: moment.committed }
    this.kills.push(done)
    return done
  }
}
