/**
 * Bodies from strangers: bounded in size, time and depth before they are parsed.
 */
import { parseJson, PawlError } from '@pawl/core'
import type { IncomingMessage } from 'node:http'

export const bodyLimits = { bytes: 10_000_000, wholeMs: 30_000, idleMs: 60_000, drainBytes: 64_000_000, drainMs: 3_000 } as const

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
