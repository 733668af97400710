/** Pages by cursor: the place of the last row given, never an offset, so a page neither repeats nor skips what was there when rows come and go. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'

export interface Page<T> {
  readonly entries: readonly T[]
  /** Pass it to get the next page; null: this was the last one. */
  readonly cursor: string | null
}

export interface PageRequest {
  readonly cursor?: string | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

const mostPerPage = 1_000

export function limitOf(request: PageRequest): number {
  const { limit = 100 } = request
  if (!Number.isInteger(limit) || limit < 1 || limit > mostPerPage) throw new PawlError('BAD_LIMIT', `limit must be a whole number from 1 to ${mostPerPage}.`)
  return limit
}

/** The place a cursor names, or undefined where there is none. Throws `BAD_CURSOR`. */
export function placeIn<T>(request: PageRequest, place: z.ZodType<T>): T | undefined {
  if (request.cursor === undefined) return undefined
  try {
    return place.parse(JSON.parse(Buffer.from(request.cursor, 'base64url').toString()))
  } catch (cause) {
    throw new PawlError('BAD_CURSOR', 'The cursor is not one this list gave out. Leave it away to begin at the first page.', 'tell', {}, { cause })
  }
}

/** Cuts `found` (one more than asked for, when there is more) to a page. */
export function pageOf<T>(found: readonly T[], limit: number, placeOf: (last: T) => unknown): Page<T> {
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, cursor: found.length > limit && last !== undefined ? Buffer.from(JSON.stringify(placeOf(last))).toString('base64url') : null }
}

/** Of the values on one page. */
const mostBytesPerPage = 4_000_000

/** How many rows of these sizes go on a page: never none. A page that is full before its limit ends there, and its cursor goes on. */
export function countFitting(sizes: readonly number[], mostBytes = mostBytesPerPage): number {
  let bytes = 0
  const over = sizes.findIndex((size, i) => (bytes += size) > mostBytes && i > 0)
  return over === -1 ? sizes.length : over
}
