import { omittedBytes, visibleText } from '@pawl/core'

/**
 * Text of others (keys, payloads, errors, evidence) on a terminal. What could move the cursor, recolour the screen, turn the reading direction or be
 * overlooked is named by its number, so that nobody can dress up one call as another before a person answers for it.
 */
export const plain = visibleText

/** Of several lines (why a config does not load, a stack): each is `plain`, and all but the first are set in, so that none passes for a line of ours. */
export const plainLines = (text: string): string => text.trimEnd().split(/\r?\n/).map(plain).join('\n  ')

/** One line, cut to `most` characters with an ellipsis. */
export function cut(text: string, most: number): string {
  const signs = Array.from(plain(text))
  return signs.length <= most ? signs.join('') : `${signs.slice(0, most - 1).join('')}…`
}

/** A value as one line of JSON; undefined and values without JSON (BigInt, cycles) as their kind, and what a list left out by its size. */
export function short(value: unknown, most = 100): string {
  if (value === null || value === undefined) return '–'
  const left = omittedBytes(value)
  if (left !== undefined) return `(${many(left, 'byte')}, left out here)`
  try {
    return cut(typeof value === 'string' ? value : JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)), most)
  } catch {
    return `(a ${typeof value} that JSON cannot show)`
  }
}

export const time = (at: Date | null): string => (at === null ? '–' : at.toISOString().slice(0, 19).replace('T', ' '))

/** `1 item`, `2 items`. */
export const many = (n: number, one: string, more = `${one}s`): string => `${n.toLocaleString('en')} ${n === 1 ? one : more}`
