/**
 * Bodies from strangers: bounded in size, time and depth before they are parsed, and refused where JSON.parse would change a number without a word.
 */
import { PawlError } from '@pawl/core'
import type { IncomingMessage } from 'node:http'

export const bodyLimits = { bytes: 10_000_000, wholeMs: 30_000, idleMs: 60_000, depth: 500, drainBytes: 64_000_000, drainMs: 3_000 } as const

/** Chunks of a body; rejects `TOO_SLOW` when nothing comes for `idleMs`. Leaves the socket usable for the answer. */
export async function* chunksOf(incoming: IncomingMessage, idleMs: number): AsyncGenerator<Buffer, void, undefined> {
  const chunks = incoming.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for (;;) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new PawlError('TOO_SLOW', `The body did not go on for ${idleMs / 1_000} s. Send it again without pauses.`)), idleMs)
    })
    try {
      const next = await Promise.race([chunks.next(), late])
      if (next.done) return
      yield next.value
    } finally {
      clearTimeout(timer)
    }
  }
}

export function hasBody(incoming: IncomingMessage): boolean {
  const length = incoming.headers['content-length']
  return incoming.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Reads what is left of a refused body, within bounds: a connection closed over unread bytes is reset, and the sender never sees the answer. False: there is more. */
export async function drain(incoming: IncomingMessage): Promise<boolean> {
  if (!hasBody(incoming) || incoming.readableEnded || incoming.destroyed) return true
  const until = Date.now() + bodyLimits.drainMs
  let bytes = 0
  try {
    for await (const chunk of chunksOf(incoming, bodyLimits.drainMs)) {
      bytes += chunk.length
      if (bytes > bodyLimits.drainBytes || Date.now() > until) return false
    }
    return true
  } catch {
    return false
  }
}

export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  let bytes = 0
  const until = Date.now() + bodyLimits.wholeMs
  for await (const chunk of chunksOf(incoming, bodyLimits.wholeMs)) {
    bytes += chunk.length
    if (bytes > bodyLimits.bytes) throw new PawlError('BODY_TOO_LARGE', `The body is over ${bodyLimits.bytes} bytes. Stream a big run as application/x-ndjson, or pass a reference.`, 'tell', { maxBytes: bodyLimits.bytes })
    if (Date.now() > until) throw new PawlError('TOO_SLOW', `The body took over ${bodyLimits.wholeMs / 1_000} s. Send it faster, or stream it as application/x-ndjson.`)
    parts.push(chunk)
  }
  return parseJson(Buffer.concat(parts).toString('utf8'), 'The body')
}

/** Throws `MALFORMED_JSON`, `BAD_DEPTH`, `BAD_NUMBER`, naming `what`. */
export function parseJson(text: string, what: string): unknown {
  inspect(text, what)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : ''
    throw new PawlError('MALFORMED_JSON', `${what} is not JSON (${why}). Send UTF-8 JSON.`)
  }
}

/** One pass over the text outside strings: nesting, and numbers a double cannot hold. */
function inspect(text: string, what: string): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 34) i = endOfString(text, i)
    else if (code === 91 || code === 123) {
      if (++depth > bodyLimits.depth) throw new PawlError('BAD_DEPTH', `${what} nests deeper than ${bodyLimits.depth}. Flatten it, or pass a reference.`)
    } else if (code === 93 || code === 125) depth -= 1
    else if (code === 45 || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, i)
      checkNumber(text.slice(i, end), what)
      i = end - 1
    }
  }
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

function checkNumber(literal: string, what: string): void {
  if (literal.length < 16) return
  const isInteger = /^-?\d+$/.test(literal)
  const digits = literal.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').length
  if (isInteger ? !Number.isSafeInteger(Number(literal)) : digits > 17) {
    throw new PawlError('BAD_NUMBER', `${what} holds the number ${literal.slice(0, 40)}, which a double would change. Send it as text.`)
  }
}
