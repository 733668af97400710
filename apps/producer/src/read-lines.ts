/** NDJSON, line by line as it arrives: the header first, then items. Nothing is kept but the line at hand; reading waits for whoever consumes. */
import { requestValues, type ItemSeed, type StreamHeader } from '@pawl/client'
import { limits, parseJson, PawlError } from '@pawl/core'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { startFields } from './schemas.ts'
import { bodyLimits, chunksOf } from './read-json.ts'

const lineBytes = limits.payloadBytes + limits.itemKeyChars * 12 + 1_000
const headerSchema = z.strictObject(startFields)
const lineSchema = z.strictObject({ key: z.string(), payload: z.unknown().optional() })

export interface RunStream {
  readonly header: StreamHeader
  readonly items: AsyncGenerator<ItemSeed, void, undefined>
}

/** Reads the header; the items follow as they are asked for. Every refusal names the line. */
export async function readRunStream(incoming: IncomingMessage): Promise<RunStream> {
  const lines = linesOf(incoming)
  const first = await lines.next()
  if (first.done) throw new PawlError('BAD_HEADER', 'The stream is empty. Its first line is the header: {"agent": "…", "input": …}; each line after it is one item: {"key": "…", "payload": …}.')
  const parsed = headerSchema.safeParse(parseJson(first.value.text, 'Line 1, the header,'))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new PawlError('BAD_HEADER', `Line 1, the header: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'does not fit'}. It holds agent, version, input, labels and policy.`)
  }
  const valueOf = requestValues()
  return { header: { ...parsed.data, input: valueOf(parsed.data.input) }, items: itemsOf(lines, valueOf) }
}

async function* itemsOf(lines: AsyncGenerator<Line>, valueOf: (value: unknown) => unknown): AsyncGenerator<ItemSeed, void, undefined> {
  for await (const { text, no } of lines) {
    const parsed = lineSchema.safeParse(parseJson(text, `Line ${no}`))
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new PawlError('BAD_LINE', `Line ${no}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'does not fit'}. An item is {"key": "…", "payload": …}. Nothing was started.`, 'tell', { line: no })
    }
    yield { key: parsed.data.key, payload: valueOf(parsed.data.payload), where: `Line ${no}` }
  }
}

interface Line {
  readonly text: string
  readonly no: number
}

/** Non-blank lines with their numbers, from 1. */
async function* linesOf(incoming: IncomingMessage): AsyncGenerator<Line, void, undefined> {
  let kept: Buffer[] = []
  let keptBytes = 0
  let no = 0
  const take = (end: Buffer): Line | undefined => {
    const text = Buffer.concat([...kept, end]).toString('utf8').trim()
    kept = []
    keptBytes = 0
    no += 1
    return text === '' ? undefined : { text, no }
  }
  for await (const chunk of chunksOf(incoming, bodyLimits.idleMs)) {
    let start = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      const line = take(chunk.subarray(start, at))
      start = at + 1
      if (line) yield line
    }
    // A copy: the rest of a chunk would keep the whole of it alive.
    if (start < chunk.length) kept.push(Buffer.from(chunk.subarray(start)))
    keptBytes += chunk.length - start
    if (keptBytes > lineBytes) throw new PawlError('TOO_LARGE', `Line ${no + 1} takes over ${lineBytes} bytes. Store the payload elsewhere and pass a reference. Nothing was started.`, 'tell', { line: no + 1, maxBytes: lineBytes })
  }
  const last = take(Buffer.alloc(0))
  if (last) yield last
}
