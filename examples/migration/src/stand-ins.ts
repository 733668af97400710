/**
 * Time, timers and chance while a module is observed. lodash takes hold of `Math.random` and `Date.now` while it loads,
 * so they cannot be exchanged for a while only: importing this file, before any lodash module, puts a switch in their
 * place for the life of the process. Outside a comparison the switch leads to the real ones.
 *
 * The clock moves only from one timer to the next, and on between observations, so that lodash's count of calls within
 * 16 ms (`_shortOut`) starts again each time.
 */
type Run = (...given: unknown[]) => void
type Log = (line: string) => void

const real = {
  random: Math.random, now: Date.now, setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, noDeprecation: process.noDeprecation ?? false,
}
let current: StandIns | undefined

Math.random = () => current?.random() ?? real.random()
Date.now = () => current?.now ?? real.now()

/** Puts the timers' stand-ins in place for a comparison, which is synchronous: nobody else meets them. End with `restore`. */
export function install(): void {
  Object.assign(globalThis, {
    setTimeout: (run: Run, delayMs?: unknown, ...given: unknown[]) => current?.set(() => { run(...given) }, delayMs),
    clearTimeout: (id: number) => { current?.clear(id) },
  })
  // `new Buffer` in lodash: Node warns of it outside node_modules only, which is where the migrated copy is.
  process.noDeprecation = true
}

export function restore(): void {
  current = undefined
  process.noDeprecation = real.noDeprecation
  Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
}

function use(standIns: StandIns): void {
  current = standIns
}

export class StandIns {
  now = 1_000_000_000_000
  private seed = 42
  private last = 0
  private log: Log = () => undefined
  private readonly due = new Map<number, { readonly at: number; readonly run: () => void }>()

  /** Starts an observation: a later time, the same chance, no timers. `log` hears of every timer set. */
  begin(log: Log): void {
    this.now += 1_000
    this.seed = 42
    this.last = 0
    this.log = log
    this.due.clear()
    use(this)
  }

  /** A small linear congruential generator: the same sequence in every observation. */
  random(): number {
    this.seed = (this.seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return this.seed / 2_147_483_648
  }

  set(run: () => void, delayMs: unknown): number {
    const ms = Math.max(1, Number(delayMs) || 0)
    this.log(`set a timer of ${ms} ms`)
    this.due.set(++this.last, { at: this.now + ms, run })
    return this.last
  }

  clear(id: number): void {
    this.due.delete(id)
  }

  /** Fires what is due, first come first; timers that set timers end after 20. `fired` hears what each threw, if it did. */
  drain(fired: (thrown: { readonly error: unknown } | undefined) => void): void {
    for (let count = 0; count < 20 && this.due.size > 0; count += 1) {
      const [id, timer] = [...this.due].reduce((first, next) => (next[1].at < first[1].at ? next : first))
      this.due.delete(id)
      this.now = Math.max(this.now, timer.at)
      try {
        timer.run()
        fired(undefined)
      } catch (error) {
        fired({ error })
      }
    }
  }
}
