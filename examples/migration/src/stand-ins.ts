/**
 * Time, timers and chance while a module is observed. lodash takes hold of `Math.random` and `Date.now` while it loads,
 * so they cannot be exchanged for one call only: importing this file, before any lodash module, puts a switch in their
 * place for the life of the process. Outside an observation the switch leads to the real ones.
 *
 * The clock moves only from one timer to the next, and on between observations, so that lodash's count of calls within
 * 16 ms (`_shortOut`) starts again each time.
 */
type Run = (...given: unknown[]) => void

const real = { random: Math.random, now: Date.now, setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, noDeprecation: process.noDeprecation ?? false }
let current: StandIns | undefined

Math.random = () => current?.random() ?? real.random()
Date.now = () => current?.now ?? real.now()

function use(standIns: StandIns): void {
  current = standIns
}

export class StandIns {
  now = 1_000_000_000_000
  private seed = 42
  private last = 0
  private readonly due = new Map<number, { readonly at: number; readonly run: () => void }>()

  /** Starts an observation at the clock's `now`, with the same chance every time. Returns what ends it. */
  begin(log: (line: string) => void): () => void {
    this.now += 1_000
    this.seed = 42
    this.due.clear()
    this.last = 0
    const set = (run: Run, delayMs?: unknown, ...given: unknown[]): number => {
      const ms = Math.max(1, Number(delayMs) || 0)
      log(`set a timer of ${ms} ms`)
      this.due.set(++this.last, { at: this.now + ms, run: () => { run(...given) } })
      return this.last
    }
    use(this)
    // `new Buffer` in lodash: Node warns of it outside node_modules only, which is where the migrated copy is.
    process.noDeprecation = true
    Object.assign(globalThis, { setTimeout: set, clearTimeout: (id: number) => this.due.delete(id) })
    return restore
  }

  /** A small linear congruential generator: the same sequence in every observation. */
  random(): number {
    this.seed = (this.seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return this.seed / 2_147_483_648
  }

  /** Fires what is due, first come first; timers that set timers end after 20. Each answer is given to `log`. */
  drain(log: (thrown: { readonly error: unknown } | undefined) => void): void {
    for (let fired = 0; fired < 20 && this.due.size > 0; fired += 1) {
      const [id, timer] = [...this.due].reduce((first, next) => (next[1].at < first[1].at ? next : first))
      this.due.delete(id)
      this.now = Math.max(this.now, timer.at)
      try {
        timer.run()
        log(undefined)
      } catch (error) {
        log({ error })
      }
    }
  }
}

/** Also for whoever cut an observation short. */
export function restore(): void {
  current = undefined
  process.noDeprecation = real.noDeprecation
  Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
}
