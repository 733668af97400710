/**
 * One codec for every value the ledger keeps: plain JSON when it survives JSON unchanged, otherwise devalue
 * (Date, BigInt, Map, Set, undefined, NaN, bytes), marked by a first character. Both escape NUL and lone
 * surrogates, so the text can be stored in a `text` column; `jsonb` would refuse or change such values.
 */
import { parse, stringify } from 'devalue'
import { createHash } from 'node:crypto'
import { PawlError } from './errors.ts'

/** Rows say which codec wrote them. */
export const codecVersion = 1
const lossless = '~'
const deepest = 500

/** Worse ones are longer to write. `views`: bytes that lie in a larger buffer are among it. */
const shapes = ['json', 'lossless', 'views'] as const
type Shape = (typeof shapes)[number]

const worse = (a: Shape, b: Shape): Shape => (shapes.indexOf(a) > shapes.indexOf(b) ? a : b)

/** Finds out whether JSON keeps `value`, and refuses what no codec keeps, naming the path. */
function shapeOf(value: unknown, path: string, above: readonly object[]): Shape {
  switch (typeof value) {
    case 'string': case 'boolean': return 'json'
    case 'number': return Number.isFinite(value) && !Object.is(value, -0) ? 'json' : 'lossless'
    case 'bigint': case 'undefined': return 'lossless'
    case 'object': break
    default: throw unstorable(path, `a ${typeof value}`)
  }
  if (value === null) return 'json'
  if (above.includes(value)) throw unstorable(path, 'a value that contains itself')
  if (above.length > deepest) throw unstorable(path, `nesting deeper than ${deepest}`)
  const inside = [...above, value]
  if (Array.isArray(value)) {
    let shape: Shape = 'json'
    for (let i = 0; i < value.length; i++) shape = worse(shape, shapeOf(value[i], `${path}[${i}]`, inside))
    return shape
  }
  if (value instanceof Map) {
    let shape: Shape = 'lossless'
    for (const [k, v] of value) shape = worse(worse(shape, shapeOf(k, `${path}.<key>`, inside)), shapeOf(v, `${path}.get(${String(k)})`, inside))
    return shape
  }
  if (value instanceof Set) {
    let shape: Shape = 'lossless'
    for (const v of value) shape = worse(shape, shapeOf(v, `${path}.<member>`, inside))
    return shape
  }
  if (ArrayBuffer.isView(value)) return value.byteLength === value.buffer.byteLength ? 'lossless' : 'views'
  if (value instanceof Date || value instanceof URL || value instanceof RegExp || value instanceof ArrayBuffer) return 'lossless'
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw unstorable(path, `an instance of ${value.constructor?.name ?? 'a class'}`)
  if (Object.getOwnPropertySymbols(value).length > 0) throw unstorable(path, 'an object with symbol keys')
  let shape: Shape = 'json'
  for (const [k, v] of Object.entries(value)) {
    if (k === '__proto__') throw unstorable(path, 'an object with a "__proto__" key')
    shape = worse(shape, shapeOf(v, `${path}.${k}`, inside))
  }
  return shape
}

/** The same value with bytes of its own: devalue writes the whole buffer a view looks into, and beside a small view of Node's lie other people's bytes. */
function withOwnBytes(value: unknown, made: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (made.has(value)) return made.get(value)
  const copy = copyOf(value, (inner) => withOwnBytes(inner, made))
  made.set(value, copy)
  return copy
}

function copyOf(value: object, inner: (value: unknown) => unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.byteLength)
    bytes.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    return value instanceof DataView ? new DataView(bytes.buffer) : Buffer.isBuffer(value) ? bytes : new (value.constructor as Uint8ArrayConstructor)(bytes.buffer)
  }
  if (Array.isArray(value)) return value.map(inner)
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [inner(k), inner(v)]))
  if (value instanceof Set) return new Set([...value].map(inner))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy = Object.create(prototype as object | null) as Record<string, unknown>
  for (const [k, v] of Object.entries(value)) copy[k] = inner(v)
  return copy
}

function unstorable(path: string, what: string): PawlError {
  return new PawlError('UNSTORABLE', `${path} is ${what}, which the ledger cannot keep and give back unchanged. Pass plain data: JSON values, Date, BigInt, Map, Set or bytes.`, 'fail', { path })
}

/** Text of a value, the same value back by `decode`. Throws `UNSTORABLE` (with the path) or `TOO_LARGE` (with both sizes). */
export function encode(value: unknown, options: { what: string; maxBytes?: number }): string {
  const shape = shapeOf(value, options.what, [])
  const text = shape === 'json' ? JSON.stringify(value) : lossless + stringify(shape === 'views' ? withOwnBytes(value, new Map()) : value)
  const { maxBytes } = options
  if (maxBytes !== undefined && text.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(text)
    if (bytes > maxBytes) {
      throw new PawlError('TOO_LARGE', `${options.what} takes ${bytes} bytes; the limit is ${maxBytes}. Store it elsewhere and pass a reference.`, 'fail', { bytes, maxBytes })
    }
  }
  return text
}

export function decode(text: string): unknown {
  return text.startsWith(lossless) ? (parse(text.slice(1)) as unknown) : (JSON.parse(text) as unknown)
}

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(sorted)
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, sorted(v)]))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.keys(value).toSorted().map((k) => [k, sorted((value as Record<string, unknown>)[k])]))
}

/** One text per value whatever the order of its keys. */
export function canonical(value: unknown): string {
  return encode(sorted(value), { what: 'value' })
}

/** SHA-256 of the canonical text: equal for equal values. */
export const digest = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex')
