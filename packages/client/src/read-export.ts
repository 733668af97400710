/** An export from a producer, line by line as it comes; it is whole only with its last line. */
import { PawlError } from '@pawl/core'
import { exportLineSchema, type ExportLine } from './wire-export.ts'

/** Throws `EXPORT_CUT` where the last line did not come. */
export async function* readExport(body: AsyncIterable<Uint8Array>, host: string): AsyncGenerator<ExportLine, void, undefined> {
  let isWhole = false
  for await (const text of linesOf(body, host)) {
    const line = exportLineSchema.parse(JSON.parse(text))
    isWhole = line.kind === 'end'
    yield line
  }
  if (!isWhole) throw cut(host)
}

const cut = (host: string, cause?: unknown): PawlError =>
  new PawlError('EXPORT_CUT', `The export from ${host} broke off before its last line. What came is right, and not all of it: export again.`, 'retry', { host }, cause === undefined ? undefined : { cause })

/** Whole lines: what is left of a body that broke off is none. */
async function* linesOf(body: AsyncIterable<Uint8Array>, host: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let rest: string[] = []
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunks.next().catch((cause: unknown) => { throw cut(host, cause) })
      if (next.done) return
      const pieces = decoder.decode(next.value, { stream: true }).split('\n')
      const last = pieces.pop() ?? ''
      for (const piece of pieces) {
        yield rest.join('') + piece
        rest = []
      }
      if (last !== '') rest.push(last)
    }
  } finally {
    // Whoever stops reading lets the connection go.
    await chunks.return?.()
  }
}
