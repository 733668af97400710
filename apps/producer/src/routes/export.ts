/** Everything the ledger has of a run, as lines of JSON. The reader sets the pace: the next page is read from the ledger when the last one was taken. */
import { exportLineSchema, exportLineToWire, type PawlClient } from '@pawl/client'
import { newId, PawlError } from '@pawl/core'
import type { Services } from '../app.ts'
import { addRoute, type App } from '../route.ts'
import { runParams } from '../schemas.ts'

const chunkChars = 65_536
/** Each holds a page of some megabytes for as long as its reader takes. */
const mostAtOnce = 16
/** Whoever takes nothing for this long is gone, or keeps others from it. */
const patienceMs = 60_000

export function addExportRoutes(app: App, services: Services): void {
  const open = new Set<string>()
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/export', scope: 'read', params: runParams,
    summary: 'A run as NDJSON, values whole: the run, its items, actions, turns, records, questions, approvals and events, then a line that counts them. Without that last line it was cut.',
    answer: { description: 'One line each.', type: 'application/x-ndjson', schema: exportLineSchema },
    handle: async ({ c, params, pawl }) => {
      await pawl.getRun(params.run)
      if (open.size >= mostAtOnce) throw new PawlError('TOO_MANY_EXPORTS', `${mostAtOnce} exports are under way, which is as many as this producer gives at once. Ask again in a moment.`, 'retry')
      const lines = linesOf(pawl, params.run, { ...services, open, cut: () => c.env.outgoing.destroy() })
      // A stream that asks for the next chunk when the last one was taken; it throws into the socket, so that a broken export never looks whole.
      return c.body(ReadableStream.from(lines) as ReadableStream<Uint8Array<ArrayBuffer>>, 200, {
        'content-type': 'application/x-ndjson', 'content-disposition': `attachment; filename="run-${params.run}.ndjson"`,
      })
    },
  })
}

interface Reading extends Pick<Services, 'closing' | 'log'> {
  /** The exports under way. */
  readonly open: Set<string>
  readonly cut: () => void
}

async function* linesOf(pawl: PawlClient, runId: string, { closing, log, open, cut }: Reading): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  const id = newId()
  let text = ''
  let timer: NodeJS.Timeout | undefined
  const send = (): Uint8Array => {
    const chunk = encoder.encode(text)
    text = ''
    timer = setTimeout(cut, patienceMs)
    return chunk
  }
  open.add(id)
  try {
    for await (const line of pawl.exportRun(runId)) {
      if (closing.aborted) throw new Error('the producer stops')
      text += `${JSON.stringify(exportLineToWire(line))}\n`
      if (text.length < chunkChars) continue
      yield send()
      clearTimeout(timer)
    }
    yield send()
  } catch (error) {
    log.warn({ run: runId }, `an export broke off: ${error instanceof Error ? error.message : String(error)}`)
    throw error
  } finally {
    clearTimeout(timer)
    open.delete(id)
  }
}
