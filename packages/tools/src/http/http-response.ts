/** Reading a response without trusting its size or its shape. */
import { changedNumberIn } from '@pawl/core'

export interface HttpResult {
  readonly status: number
  /** The few that matter for what comes next; never cookies. */
  readonly headers: Readonly<Record<string, string>>
  /** Of JSON, the value; but its text, where a number in it is one a double would change (a long id, an amount in cents): no digit is lost. */
  readonly body: unknown
  /** The body was longer than `maxResponseBytes`: `body` is null, the call itself counts as answered. */
  readonly bodyTruncated: boolean
}

const keptHeaders = ['content-type', 'etag', 'last-modified', 'location', 'retry-after', 'x-request-id']
const bodiless = new Set([204, 205, 304])

/**
 * Throws on a body that is not what was promised: with an answer that cannot be read nobody knows what the receiver did,
 * so the call is unsettled, not failed and not done.
 */
export async function readResult(response: Response, method: string, as: 'json' | 'text', maxBytes: number): Promise<HttpResult> {
  const headers: Record<string, string> = {}
  for (const name of keptHeaders) {
    const value = response.headers.get(name)
    if (value !== null) headers[name] = value
  }
  const result = { status: response.status, headers, bodyTruncated: false }
  if (method === 'HEAD' || bodiless.has(response.status)) return { ...result, body: null }
  const text = await readBounded(response, maxBytes)
  if (text === undefined) return { ...result, body: null, bodyTruncated: true }
  if (as === 'text') return { ...result, body: text }
  try {
    const value = JSON.parse(text) as unknown
    return { ...result, body: holdsChangedNumber(text) ? text : value }
  } catch (cause) {
    throw new Error(`${response.status} with a body of ${text.length} characters that is not JSON. Set response: 'text' if none is promised.`, { cause })
  }
}

/** Of text that nests deeper than any of ours nobody knows: it stays text. */
function holdsChangedNumber(text: string): boolean {
  try {
    return changedNumberIn(text) !== undefined
  } catch {
    return true
  }
}

/** The body as text, or undefined when it is longer than `maxBytes`; then the rest is not downloaded. */
export async function readBounded(response: Response, maxBytes: number): Promise<string | undefined> {
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** `Retry-After` in milliseconds: seconds or a date, at most an hour. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined
  const seconds = Number(header)
  const wait = Number.isFinite(seconds) && header.trim() !== '' ? seconds * 1_000 : Date.parse(header) - now
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), 3_600_000)
}
