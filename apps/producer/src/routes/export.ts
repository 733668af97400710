/** Everything the ledger has of a run, as lines of JSON. The reader sets the pace: the next page is read from the ledger when the last one was taken. */
import { exportLineSchema, exportLineToWire, type PawlClient } from '@pawl/client'
import type { Services } from '../app.ts'
import { addRoute, type App } from '../route.ts'
import { runParams } from '../schemas.ts'

const chunkChars = 65_536

export function addExportRoutes(app: App, services: Services): void {
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/export', scope: 'read', params: runParams,
    summary: 'A run as NDJSON, values whole: the run, its items, actions, turns, records, questions, approvals and events, then a line that counts them. Without that last line it was cut.',
    answer: { description: 'One line each.', type: 'application/x-ndjson', schema: exportLineSchema },
    handle: async ({ c, params, pawl }) => {
      await pawl.getRun(params.run)
      const lines = linesOf(pawl, params.run, services)
      // A stream that asks for the next chunk when the last one was taken; it throws into the socket, so that a broken export never looks whole.
      return c.body(ReadableStream.from(lines) as ReadableStream<Uint8Array<ArrayBuffer>>, 200, {
        'content-type': 'application/x-ndjson', 'content-disposition': `attachment; filename="run-${params.run}.ndjson"`,
      })
    },
  })
}

async function* linesOf(pawl: PawlClient, runId: string, { closing, log }: Pick<Services, 'closing' | 'log'>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  let text = ''
  try {
    for await (const line of pawl.exportRun(runId)) {
      if (closing.aborted) throw new Error('the producer stops')
      text += `${JSON.stringify(exportLineToWire(line))}\n`
      if (text.length < chunkChars) continue
      yield encoder.encode(text)
      text = ''
    }
    yield encoder.encode(text)
  } catch (error) {
    log.warn({ run: runId }, `an export broke off: ${error instanceof Error ? error.message : String(error)}`)
    throw error
  }
}
