/** The audit of a run, as server-sent events that go on where the last connection ended, or as JSON where that is asked for. */
import { eventSchema } from '@pawl/client'
import { PawlError, waitMs } from '@pawl/core'
import { listEvents } from '@pawl/ledger'
import { streamSSE } from 'hono/streaming'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { addRoute, type App } from '../route.ts'
import { numberText, pageQuery, runParams } from '../schemas.ts'

const everyMs = 500
const quietMs = 15_000
/** Younger events wait, in the stream and in the list: an earlier number may still be on its way to its commit, and whoever goes on after a later one would never see it. */
const settledMs = 1_000

export function addEventRoutes(app: App, services: Services): void {
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/events', scope: 'read', summary: 'Events of a run: server-sent, resumable by Last-Event-ID; a list with Accept: application/json.',
    params: runParams, query: z.strictObject({ after: numberText.optional(), limit: pageQuery.limit }),
    answer: { description: 'Events, oldest first.', type: 'text/event-stream', schema: eventSchema, also: { 'application/json': { schema: z.object({ entries: z.array(eventSchema) }) } } },
    handle: async ({ c, params, query, pawl }) => {
      await pawl.getRun(params.run)
      if (c.req.header('accept')?.includes('application/json')) return c.json({ entries: await listEvents(services.ledger, params.run, { ...query, settledMs }) })
      let after = lastSeen(c.req.header('last-event-id')) ?? query.after
      return streamSSE(c, async (stream) => {
        const gone = new AbortController()
        stream.onAbort(() => gone.abort())
        const ended = AbortSignal.any([gone.signal, services.closing])
        let spokeAt = Date.now()
        while (!ended.aborted) {
          const events = await listEvents(services.ledger, params.run, { after, limit: 100, settledMs })
          for (const event of events) {
            await stream.writeSSE({ id: String(event.id), event: event.kind, data: JSON.stringify(event) })
            after = event.id
            spokeAt = Date.now()
          }
          if (events.length > 0) continue
          if (Date.now() - spokeAt > quietMs) {
            await stream.write(': still here\n\n')
            spokeAt = Date.now()
          }
          await waitMs(everyMs, ended)
        }
      }, async (error) => {
        services.log.warn({ run: params.run }, `an event stream ended: ${error.message}`)
      })
    },
  })
}

function lastSeen(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  if (!/^\d{1,15}$/.test(header)) throw new PawlError('BAD_REQUEST', 'Last-Event-ID must be the id of an event of this stream.')
  return Number(header)
}
