/**
 * Holds a migrated export against the original: the same value, or the same behaviour over the fixed calls.
 */
import { runInThisContext } from 'node:vm'
import { callsFor, methodCalls, type Call } from './inputs.ts'
import { isCallable, observe, type Callable, type Draw, type How } from './observe.ts'
import { portrait } from './portrait.ts'
import type { Receivers } from './receivers.ts'
import { install, restore, StandIns } from './stand-ins.ts'

/** Modules with a state that depends on what was asked of them before: how their export and results are drawn to be comparable. */
export const comparedInPart: ReadonlyMap<string, { readonly reason: string; readonly draw: Draw }> = new Map([
  ['uniqueId.js', { reason: 'each loaded copy counts for itself', draw: (value: unknown) => portrait(value).replace(/\d+"$/, 'n"') }],
  ['_stringToPath.js', { reason: 'its cache holds every path it was asked for', draw: (value: unknown) => (isCallable(value) ? 'a function' : portrait(value)) }],
])

export interface Sides {
  readonly path: string
  /** Text of the original: where it reads `this`, it is also called on receivers and with `new`, and globals are watched. */
  readonly originalSource: string
  readonly migrated: { readonly value: unknown; readonly receivers: Receivers }
  readonly original: { readonly value: unknown; readonly receivers: Receivers }
  /** Milliseconds after which the comparison is given up, endless loops included. */
  readonly limitMs: number
  /** Original to migrated functions held against each other before: `each.js` and `collection.js` hand on what others export. */
  readonly compared?: Map<unknown, unknown>
}

/** The first difference as a sentence, or undefined when there is none. */
export function findDifference(sides: Sides): string | undefined {
  const found: { difference?: string | undefined } = {}
  // A script's timeout is the only thing that ends a synchronous endless loop without a second thread.
  Object.defineProperty(globalThis, entry, { value: () => { found.difference = compare(sides) }, configurable: true })
  install()
  try {
    runInThisContext(`${entry}()`, { timeout: sides.limitMs })
    return found.difference
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')) throw thrown
    return `did not finish its calls within ${sides.limitMs} ms`
  } finally {
    Reflect.deleteProperty(globalThis, entry)
    restore()
  }
}

const entry = 'pawlExampleComparison'

function compare(sides: Sides): string | undefined {
  const { migrated, original } = sides
  if (isSame(sides, original.value, migrated.value)) return undefined
  const draw = drawFor(sides.path)
  const shape = tell(() => 'its export', [draw(original.value)], [draw(migrated.value)])
  if (shape !== undefined) return shape
  if (isCallable(original.value) && isCallable(migrated.value)) return compareFunctions(sides, original.value, migrated.value)
  return compareMembers(sides, Object(original.value), Object(migrated.value))
}

/** `array.js`, `collection.js` and their like export an object of functions. */
function compareMembers(sides: Sides, before: object, after: object): string | undefined {
  for (const name of Object.keys(before)) {
    const [was, is]: unknown[] = [Reflect.get(before, name), Reflect.get(after, name)]
    if (isSame(sides, was, is) || !isCallable(was) || !isCallable(is)) continue
    const difference = compareFunctions({ ...sides, path: `${name}.js` }, was, is)
    if (difference !== undefined) return `its ${name} ${difference}`
  }
  return undefined
}

function isSame({ compared }: Sides, was: unknown, is: unknown): boolean {
  return Object.is(was, is) || (compared?.has(was) === true && Object.is(compared.get(was), is))
}

function compareFunctions(sides: Sides, before: Callable, after: Callable): string | undefined {
  const { migrated, original, compared } = sides
  compared?.set(before, after)
  const draw = drawFor(sides.path)
  const [clockBefore, clockAfter] = [new StandIns(), new StandIns()]
  const watchGlobals = /\bthis\b/.test(withoutComments(sides.originalSource))
  const compareCall = (call: Call, how: How, receiver: number): string | undefined => {
    const [from, to] = [original.receivers[receiver], migrated.receivers[receiver]]
    const expected = observe(before, call, { how, receiver: from?.make(), standIns: clockBefore, draw, watchGlobals })
    const actual = observe(after, call, { how, receiver: to?.make(), standIns: clockAfter, draw, watchGlobals })
    return tell(() => describeCall(call, how, from?.name), expected, actual)
  }
  for (const call of callsFor(sides.path)) {
    const difference = compareCall(call, 'call', 0)
    if (difference !== undefined) return difference
  }
  if (!watchGlobals) return undefined
  for (const call of methodCalls) {
    const constructed = compareCall(call, 'new', 0)
    if (constructed !== undefined) return constructed
    for (let receiver = 1; receiver < original.receivers.length; receiver += 1) {
      const difference = compareCall(call, 'call', receiver)
      if (difference !== undefined) return difference
    }
  }
  return undefined
}

function drawFor(path: string): Draw {
  return comparedInPart.get(path)?.draw ?? portrait
}

function tell(what: () => string, expected: string[], actual: string[]): string | undefined {
  const at = expected.findIndex((line, index) => line !== actual[index])
  const first = at >= 0 ? at : expected.length
  if (at < 0 && actual.length === expected.length) return undefined
  return `${what()}: the original ${excerpt(expected[first], actual[first])}, the migrated one ${excerpt(actual[first], expected[first])}`
}

/** A line around the first place where it leaves the other one. */
function excerpt(line = 'did nothing more', other = ''): string {
  let same = 0
  while (same < line.length && line[same] === other[same]) same += 1
  const from = Math.max(0, same - 60)
  return line.length <= 160 ? line : `${from > 0 ? '…' : ''}${line.slice(from, from + 160)}…`
}

function describeCall(call: Call, how: How, receiver: string | undefined): string {
  const given = call.args(() => undefined).map((value) => portrait(value)).join(', ')
  return `${how === 'new' ? 'new ' : ''}called${receiver === undefined || receiver === 'undefined' ? '' : ` on ${receiver}`} with (${excerpt(given)})`
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
}
