/** Values as a model reads them, and cut to fit. Deterministic; a cut always says that it is one, and how much is missing. */

/** JSON, with what JSON has no word for in the nearest one. */
export function show(value: unknown): string {
  return JSON.stringify(plain(value)) ?? 'null'
}

function plain(value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof URL || value instanceof RegExp) return String(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  if (value instanceof Map) return [...value].map(([key, of]) => [plain(key), plain(of)])
  if (value instanceof Set) return [...value].map(plain)
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, plain(of)]))
}

/** At most `chars` of the text and a word about the rest. Never half a surrogate pair. */
export function cut(text: string, chars: number): string {
  if (text.length <= chars) return text
  const kept = text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')
  return `${kept}… [cut: ${text.length - kept.length} of ${text.length} characters]`
}

/** For the wire: lone surrogates are refused by some providers. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\uFFFD')

/** A tool call's input as the object providers demand, long texts in it cut, its shape kept as far as it fits. */
export function showInput(input: unknown, chars: number): Record<string, unknown> {
  const whole = plain(input)
  const object = whole !== null && typeof whole === 'object' && !Array.isArray(whole) ? (whole as Record<string, unknown>) : { input: whole }
  if (JSON.stringify(object).length <= chars) return object
  const shorter = cutLeaves(object, Math.max(16, Math.floor(chars / 8))) as Record<string, unknown>
  return JSON.stringify(shorter).length <= chars ? shorter : { cut: cut(JSON.stringify(object), Math.max(16, Math.floor(chars / 2))) }
}

function cutLeaves(value: unknown, chars: number): unknown {
  if (typeof value === 'string') return cut(value, chars)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((of) => cutLeaves(of, chars))
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, cutLeaves(of, chars)]))
}
