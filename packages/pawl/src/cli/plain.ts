/**
 * Text of others (keys, payloads, errors, evidence) on a terminal. What could move the cursor, recolour the screen or turn the reading
 * direction is shown as its code point, so that nobody can dress up one call as another before a person answers for it.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const acting = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

export const plain = (text: string): string =>
  text.replaceAll(acting, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** One line, cut to `most` characters with an ellipsis. */
export function cut(text: string, most: number): string {
  const signs = Array.from(plain(text))
  return signs.length <= most ? signs.join('') : `${signs.slice(0, most - 1).join('')}…`
}

/** A value as one line of JSON; undefined and values without JSON (BigInt, cycles) as their kind. */
export function short(value: unknown, most = 100): string {
  if (value === null || value === undefined) return '–'
  try {
    return cut(typeof value === 'string' ? value : JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)), most)
  } catch {
    return `(a ${typeof value} that JSON cannot show)`
  }
}

export const time = (at: Date | null): string => (at === null ? '–' : at.toISOString().slice(0, 19).replace('T', ' '))

/** `1 item`, `2 items`. */
export const many = (n: number, one: string, more = `${one}s`): string => `${n.toLocaleString('en')} ${n === 1 ? one : more}`
