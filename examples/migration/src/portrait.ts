/**
 * A value as text, so that two values that cannot be the same object can be compared for being the same in every way that
 * shows: prototype chain, own properties with their flags and order, holes, -0 and NaN, symbols, cycles and sharing,
 * bytes, entries, and of functions name, length and properties. `util.isDeepStrictEqual` compares functions by identity,
 * and the original and its migrated copy never share one.
 *
 * Left out of functions, because they are not the module's behaviour: `caller` and `arguments` (an engine's leftovers of
 * sloppy functions) and `constructor`.
 */
import { types } from 'node:util'

const known = nameBuiltIns()
const notShown: ReadonlySet<string | symbol> = new Set(['caller', 'arguments', 'name', 'length'])
const maxDepth = 7

export function portrait(value: unknown): string {
  return draw(value, new Map(), 0)
}

function draw(value: unknown, seen: Map<object, number>, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  if (!isObject(value)) return String(value)
  const builtIn = known.get(value)
  if (builtIn !== undefined) return builtIn
  const before = seen.get(value)
  if (before !== undefined) return `#${before}`
  seen.set(value, seen.size)
  if (depth > maxDepth) return '…'
  const inner = (part: unknown): string => draw(part, seen, depth + 1)
  return `${kindOf(value, inner)}<${drawPrototype(value, inner)}>${drawProperties(value, inner)}`
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** What a value is beyond its properties: the parts that sit in internal slots. */
function kindOf(value: object, inner: (part: unknown) => string): string {
  if (typeof value === 'function') return `function ${JSON.stringify(value.name)}/${value.length}`
  if (Array.isArray(value)) return `array/${value.length}`
  if (types.isArgumentsObject(value)) return 'arguments'
  if (types.isMap(value)) return `map(${[...value].map(([k, v]) => `${inner(k)} => ${inner(v)}`).join(', ')})`
  if (types.isSet(value)) return `set(${[...value].map(inner).join(', ')})`
  if (types.isDate(value)) return `date(${value.getTime()})`
  if (types.isRegExp(value)) return `regexp(${value.toString()})`
  if (types.isTypedArray(value)) return `bytes(${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')})`
  if (types.isDataView(value)) return `view(${value.byteOffset}, ${value.byteLength}, ${inner(value.buffer)})`
  if (types.isAnyArrayBuffer(value)) return `buffer(${Buffer.from(value).toString('hex')})`
  if (types.isNativeError(value)) return `error(${describeMessage(value.message)})`
  if (types.isBoxedPrimitive(value)) return `boxed(${inner(value.valueOf())})`
  return 'object'
}

/** An engine writes the source of the failing expression into some messages; that text is not what the module does. */
function describeMessage(message: string): string {
  return message.replace(/^.* (is not a (?:function|constructor)|is not iterable)/s, '… $1')
}

function drawPrototype(value: object, inner: (part: unknown) => string): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  return inner(prototype)
}

function drawProperties(value: object, inner: (part: unknown) => string): string {
  const isFunction = typeof value === 'function'
  const elements = types.isTypedArray(value) ? value.length : 0
  const drawn: string[] = []
  for (const key of Reflect.ownKeys(value).slice(elements)) {
    if ((isFunction && notShown.has(key)) || key === 'constructor') continue
    if (types.isNativeError(value) && (key === 'stack' || key === 'message')) continue
    if (types.isArgumentsObject(value) && key === 'callee') continue
    const found = Object.getOwnPropertyDescriptor(value, key)
    if (!found || (isFunction && key === 'prototype' && isBarePrototype(found.value))) continue
    const flags = `${found.writable === false ? 'r' : ''}${found.enumerable === true ? '' : 'h'}${found.configurable === true ? '' : 'f'}`
    const shown = 'get' in found ? `get ${inner(Reflect.get(found, 'get'))} set ${inner(Reflect.get(found, 'set'))}` : inner(found.value)
    drawn.push(`${String(key)}${flags === '' ? '' : `[${flags}]`}: ${shown}`)
  }
  return drawn.length === 0 ? '' : `{ ${drawn.join(', ')} }`
}

function isBarePrototype(value: unknown): boolean {
  return isObject(value) && Object.getPrototypeOf(value) === Object.prototype && Reflect.ownKeys(value).length <= 1
}

/** Everything reachable from the global object by name: two modules that hand out a built-in hand out the same one. */
function nameBuiltIns(): Map<object, string> {
  const names = new Map<object, string>([[globalThis, 'globalThis'], [types, 'util.types'], [process, 'process']])
  const add = (owner: object, prefix: string, levels: number): void => {
    for (const key of Reflect.ownKeys(owner)) {
      const found = Object.getOwnPropertyDescriptor(owner, key)
      for (const value of [found?.value, found && Reflect.get(found, 'get')] as unknown[]) {
        if (!isObject(value) || names.has(value)) continue
        names.set(value, `${prefix}${String(key)}`)
        if (levels > 0) add(value, `${prefix}${String(key)}.`, levels - 1)
      }
    }
  }
  add(types, 'util.types.', 0)
  for (const key of Object.getOwnPropertyNames(globalThis)) {
    const value: unknown = Object.getOwnPropertyDescriptor(globalThis, key)?.value
    if (!isObject(value)) continue
    if (!names.has(value)) names.set(value, key)
    if (/^[A-Z]|^global$/.test(key)) add(value, `${key}.`, 1)
  }
  const typed: unknown = Object.getPrototypeOf(Uint8Array)
  if (isObject(typed)) names.set(typed, 'TypedArray')
  return names
}
