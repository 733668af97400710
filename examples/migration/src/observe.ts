/**
 * Makes one call and writes down all that can be seen of it: result or error, what became of the arguments and the
 * receiver, what callbacks were given, timers set, globals left behind, and how a returned function behaves in turn.
 * Each library has a clock of its own, so that what one side spends does not show on the other.
 */
import { followUps, type Call } from './inputs.ts'
import { portrait } from './portrait.ts'
import type { StandIns } from './stand-ins.ts'

export type Callable = (...given: never[]) => unknown
/** How to write a result down. */
export type Draw = (value: unknown) => string
export type How = 'call' | 'new'

export interface Setting {
  readonly how: How
  readonly receiver: unknown
  readonly standIns: StandIns
  readonly draw: Draw
  /** Only where functions read `this`: looking through the global object costs more than most calls. */
  readonly watchGlobals: boolean
}

export function isCallable(value: unknown): value is Callable {
  return typeof value === 'function'
}

export function observe(subject: Callable, call: Call, setting: Setting): string[] {
  const { how, receiver, standIns, draw, watchGlobals } = setting
  const lines: string[] = []
  const globals = watchGlobals ? Reflect.ownKeys(globalThis) : []
  const log = (name: string, self: unknown, given: readonly unknown[]): void => {
    if (lines.length < 400) lines.push(`callback ${name} on ${portrait(self)} with ${portrait(given)}`)
  }
  const drain = (): void => {
    standIns.drain((thrown) => lines.push(thrown ? `a timer threw ${portrait(thrown.error)}` : 'a timer fired'))
  }
  standIns.begin((line) => lines.push(line))
  const result = record(lines, subject, call.args(log), how, receiver, draw)
  drain()
  if (isCallable(result.value) && !result.given && !isNative(result.value)) {
    for (const [index, next] of followUps.entries()) {
      record(lines, result.value, next.args(log), 'call', [undefined, { receiver: true }, 5][index % 3], draw)
    }
    drain()
  }
  if (watchGlobals) removeGlobals(globals, lines)
  return lines
}

/** A sloppy function without a receiver writes into the global object. */
function removeGlobals(before: readonly PropertyKey[], lines: string[]): void {
  const after = Reflect.ownKeys(globalThis)
  if (after.length === before.length) return
  for (const key of after.filter((name) => !before.includes(name))) {
    lines.push(`left a global ${String(key)} = ${portrait(Reflect.get(globalThis, key))}`)
    Reflect.deleteProperty(globalThis, key)
  }
}

function record(lines: string[], subject: Callable, args: unknown[], how: How, receiver: unknown, draw: Draw): { value: unknown; given: boolean } {
  let value: unknown
  let place = -1
  const before = [...args]
  try {
    value = how === 'new' ? Reflect.construct(subject, args) : Reflect.apply(subject, receiver, args)
    place = typeof value === 'object' || typeof value === 'function' ? before.indexOf(value) : -1
    lines.push(`returned ${draw(value)}${place < 0 ? '' : `, its argument ${place}`}`)
  } catch (thrown) {
    lines.push(`threw ${portrait(thrown)}`)
  }
  lines.push(`arguments after: ${draw(args)}`, `receiver after: ${portrait(receiver)}`)
  return { value, given: place >= 0 }
}

/** A built-in or bound function: its behaviour is the engine's, and its identity has been compared already. */
function isNative(subject: Callable): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(subject))
}
