/** An export from a producer, line by line as it comes; it is whole only with its last line. */
import { PawlError } from '@pawl/core'
import { exportLineSchema, type ExportLine } from './wire-export.ts'

/** Throws `EXPORT_CUT` where the last line did not come. */
export async function* readExport(body: ReadableStream<Uint8Array>, host: string): AsyncGenerator<ExportLine, void, undefined> {
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
async function* linesOf(body: ReadableStream<Uint8Array>, host: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let rest: string[] = []
  // By a reader: not every browser iterates over a body.
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => { throw cut(host, cause) })
      if (done) return
      const pieces = decoder.decode(value, { stream: true }).split('\n')
      const last = pieces.pop() ?? ''
      for (const piece of pieces) {
        yield rest.join('') + piece
        rest = []
      }
      if (last !== '') rest.push(last)
    }
  } finally {
    // Whoever stops reading lets the connection go.
    await reader.cancel().catch(() => undefined)
  }
}
