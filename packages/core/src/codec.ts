/**
 * One codec for every value the ledger keeps: plain JSON when it survives JSON unchanged, otherwise devalue
 * (Date, BigInt, Map, Set, undefined, NaN, bytes), marked by a first character. Both escape NUL and lone
 * surrogates, so the text can be stored in a `text` column; `jsonb` would refuse or change such values.
 */
import { parse, stringify } from 'devalue'
import { createHash } from 'node:crypto'
import { limits } from './limits.ts'
import { measure, tooLarge, type Measured, type Shape } from './measure.ts'

/** Rows say which codec wrote them. */
export const codecVersion = 1
const lossless = '~'

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

/** How JSON and devalue keep it, each by what it is like. */
const write = (value: unknown, shape: Shape): string =>
  shape === 'json' ? JSON.stringify(value) : lossless + stringify(shape === 'views' ? withOwnBytes(value, new Map()) : value)

/**
 * Before anything goes through a value object by object: what it repeats may take as much again as a value may. JSON and whatever sorts or
 * copies write out what several places share, and forty objects that each hold the next one twice are a tree of a trillion.
 */
function look(value: unknown, what: string, maxBytes: number = limits.resultBytes): Measured {
  const measured = measure(value, what, maxBytes * 2)
  if (measured.repeated > maxBytes) throw tooLarge(what, measured.bytes, maxBytes, ', with what it holds in several places written out in each')
  return measured
}

/** Text of a value, the same value back by `decode`. Throws `UNSTORABLE` (with the path) or `TOO_LARGE` (with both sizes). */
export function encode(value: unknown, options: { what: string; maxBytes?: number }): string {
  const { what, maxBytes } = options
  const { shape, bytes: least } = look(value, what, maxBytes)
  // One long string in many places is long only once it is written.
  if (maxBytes !== undefined && shape === 'json' && least > maxBytes * 2) throw tooLarge(what, least, maxBytes, ' or more')
  const text = write(value, shape)
  if (maxBytes !== undefined && text.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(text)
    if (bytes > maxBytes) throw tooLarge(what, bytes, maxBytes)
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

/** One text per value whatever the order of its keys. Throws as `encode` does. */
export function canonical(value: unknown): string {
  const { shape } = look(value, 'value')
  return write(sorted(value), shape)
}

/** SHA-256 of the canonical text: equal for equal values. */
export const digest = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex')
