/**
 * JSON from outside: `JSON.parse` changes a number that a double cannot hold without a word (9007199254740993 becomes …992), and ids and amounts are
 * where that happens. What may be refused is refused, naming the number; what happened already is looked at, so that the text can be kept instead. Pure.
 */
import { PawlError } from './errors.ts'

/** Arrays and objects in each other; the parser itself would use up the stack. */
export const jsonDepth = 500

/** Throws `MALFORMED_JSON`, `BAD_DEPTH`, `BAD_NUMBER`, naming `what`. */
export function parseJson(text: string, what: string): unknown {
  const number = inspect(text, what)
  if (number !== undefined) throw changedNumber(what, number)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : ''
    throw new PawlError('MALFORMED_JSON', `${what} is not JSON (${why}). Send UTF-8 JSON.`, 'tell', {}, { cause: error })
  }
}

/** The first number in a JSON text that a double would change, as it is written there. Throws `BAD_DEPTH`. */
export const changedNumberIn = (text: string): string | undefined => inspect(text, 'The text')

/** For JSON that a library has parsed already: throws `BAD_NUMBER` where a whole number is beyond what a double holds exactly, for its digits may be others by now. */
export function refuseChangedNumbers(value: unknown, what: string, depth = 0): void {
  if (depth > jsonDepth) throw tooDeep(what.slice(0, 100))
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) throw changedNumber(what, String(value))
  if (typeof value === 'object' && value !== null) for (const [key, inner] of Object.entries(value)) refuseChangedNumbers(inner, `${what}.${key}`, depth + 1)
}

const changedNumber = (what: string, literal: string): PawlError =>
  new PawlError('BAD_NUMBER', `${what} holds the number ${literal.slice(0, 40)}, which a double would change. Send it as text.`)

const tooDeep = (what: string): PawlError => new PawlError('BAD_DEPTH', `${what} nests deeper than ${jsonDepth}. Flatten it, or pass a reference.`)

/** One pass over the text outside strings: nesting, and numbers a double cannot hold. */
function inspect(text: string, what: string): string | undefined {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 34) i = endOfString(text, i)
    else if (code === 91 || code === 123) {
      if (++depth > jsonDepth) throw tooDeep(what)
    } else if (code === 93 || code === 125) depth -= 1
    else if (code === 45 || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, i)
      if (isChanged(text.slice(i, end))) return text.slice(i, end)
      i = end - 1
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text.charCodeAt(i) !== 34) i += text.charCodeAt(i) === 92 ? 2 : 1
  return i
}

function endOfNumber(text: string, start: number): number {
  let i = start
  while (i < text.length && '0123456789+-.eE'.includes(text.charAt(i))) i += 1
  return i
}

function isChanged(literal: string): boolean {
  if (literal.length < 16) return false
  if (/^-?\d+$/.test(literal)) return !Number.isSafeInteger(Number(literal))
  return literal.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').length > 17
}
