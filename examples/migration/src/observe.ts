/**
 * Makes one call and writes down all that can be seen of it: result or error, what became of the arguments and the
 * receiver, what callbacks were given, timers set, globals left behind, and how a returned function behaves in turn.
 * Time and timers are stand-ins while it runs, so `debounce` and `delay` finish at once, in a fixed order, and leave nothing.
 */
import { followUps, type Call } from './inputs.ts'
import { portrait } from './portrait.ts'

type Callable = (...given: never[]) => unknown
/** How to write a value down: exactly, or only its kind where the module's results are random. */
export type Draw = (value: unknown) => string
export type How = 'call' | 'new'

export function isCallable(value: unknown): value is Callable {
  return typeof value === 'function'
}

export function observe(subject: Callable, call: Call, how: How, receiver: unknown, draw: Draw): string[] {
  const lines: string[] = []
  const timers = new Timers(lines)
  const globals = new Set(Reflect.ownKeys(globalThis))
  const log = (name: string, self: unknown, given: readonly unknown[]): void => {
    if (draw === portrait && lines.length < 400) lines.push(`callback ${name} on ${portrait(self)} with ${portrait(given)}`)
  }
  timers.install()
  try {
    const result = record(lines, subject, call.args(log), how, receiver, draw)
    timers.drain()
    if (isCallable(result) && draw === portrait && !isNative(result)) {
      for (const next of followUps) record(lines, result, next.args(log), 'call', { receiver: true }, draw)
      timers.drain()
    }
  } finally {
    timers.restore()
    for (const key of Reflect.ownKeys(globalThis)) {
      if (globals.has(key)) continue
      lines.push(`left a global ${String(key)} = ${portrait(Reflect.get(globalThis, key))}`)
      Reflect.deleteProperty(globalThis, key)
    }
  }
  return lines
}

function record(lines: string[], subject: Callable, given: unknown[], how: How, receiver: unknown, draw: Draw): unknown {
  let result: unknown
  try {
    result = how === 'new' ? Reflect.construct(subject, given) : Reflect.apply(subject, receiver, given)
    lines.push(`returned ${draw(result)}`)
  } catch (thrown) {
    lines.push(`threw ${portrait(thrown)}`)
  }
  lines.push(`arguments after: ${draw(given)}`, `receiver after: ${portrait(receiver)}`)
  return result
}

/** A built-in or bound function: its behaviour is the engine's, and its identity has been compared already. */
function isNative(subject: Callable): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(subject))
}

/** Stand-ins for `setTimeout`, `clearTimeout` and `Date.now`, on a clock that moves only from one timer to the next. */
class Timers {
  private readonly real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now }
  private readonly due = new Map<number, { at: number; run: () => void }>()
  private now = 1_000_000
  private last = 0

  constructor(private readonly lines: string[]) {}

  install(): void {
    const set = (run: (...given: unknown[]) => void, delayMs?: unknown, ...given: unknown[]): number => {
      const ms = Math.max(1, Number(delayMs) || 0)
      this.lines.push(`set a timer of ${ms} ms`)
      this.due.set(++this.last, { at: this.now + ms, run: () => { run(...given) } })
      return this.last
    }
    Object.assign(globalThis, { setTimeout: set, clearTimeout: (id: number) => this.due.delete(id) })
    Date.now = () => this.now
  }

  drain(): void {
    for (let fired = 0; fired < 20 && this.due.size > 0; fired += 1) {
      const [id, timer] = [...this.due].reduce((first, next) => (next[1].at < first[1].at ? next : first))
      this.due.delete(id)
      this.now = Math.max(this.now, timer.at)
      try {
        timer.run()
        this.lines.push('a timer fired')
      } catch (thrown) {
        this.lines.push(`a timer threw ${portrait(thrown)}`)
      }
    }
  }

  restore(): void {
    Object.assign(globalThis, { setTimeout: this.real.setTimeout, clearTimeout: this.real.clearTimeout })
    Date.now = this.real.now
  }
}
