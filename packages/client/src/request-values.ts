/**
 * The values of one request, which somebody else made: in an encoded text a few bytes can say of one thing that it is in a million places, or that a
 * list is a billion long. So what a value takes written out is counted against the text that says it, before a digest or a schema goes through it.
 */
import { measure, PawlError, tooLarge } from '@pawl/core'
import { fromWire, isEnvelope } from './wire.ts'

/** What one request may repeat whatever its length: a tenth of a second's work. */
const allowance = 250_000
/** What is repeated beside this many times the texts' length is not counted: rows that share some words stay within it, and a long request takes as much work as one twice as long that repeats nothing. */
const timesTheText = 2
/** Reading a number of n digits takes n times n steps, nearly. */
const mostDigits = 10_000

/** One per request; then for each value of it. Throws `BAD_VALUE`, `TOO_LARGE`, `UNSTORABLE`. */
export function requestValues(): (value: unknown) => unknown {
  let left = allowance
  return (value) => {
    const text = isEnvelope(value) ? value.$encoded : undefined
    if (typeof text !== 'string') return fromWire(value)
    if (hasEndlessNumber(text)) throw new PawlError('BAD_VALUE', `An encoded value holds a BigInt of more than ${mostDigits} digits. Send it as text.`)
    const decoded = fromWire(value)
    left += text.length * timesTheText
    const { bytes } = measure(decoded, 'An encoded value', left)
    if (bytes > left) throw tooLarge('An encoded value', bytes, left, ', with what it holds in several places written out in each')
    left -= bytes
    return decoded
  }
}

function hasEndlessNumber(text: string): boolean {
  if (!text.includes('BigInt', 1) && !text.includes('\\u')) return false
  try {
    const parts: unknown = JSON.parse(text.slice(1))
    return Array.isArray(parts) && parts.some((part) => Array.isArray(part) && part[0] === 'BigInt' && String(part[1]).length > mostDigits)
  } catch {
    // No codec's text: told by whoever reads it.
    return false
  }
}
