/** One verb for many runs, as a record with progress. */
import { bulkSchema, bulkStartedSchema } from '@pawl/client'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { keyOf } from '../idempotency-key.ts'
import { addRoute, type App } from '../route.ts'
import { bulkBody, pageQuery } from '../schemas.ts'

export function addBulkRoutes(app: App, services: Services): void {
  addRoute(app, services, {
    method: 'post', path: '/v1/bulk', scope: 'operate', takesKey: true, body: bulkBody,
    summary: 'Pause, resume or cancel many runs, named or found by a filter. Written down first, then carried out run by run, each once, whatever happens to this producer.',
    answer: { status: 202, description: 'The record is in the ledger. 202 when it is new, 200 when the key named it already.', schema: bulkStartedSchema },
    handle: async ({ c, body, pawl }) => {
      const started = await pawl.bulk(body, { idempotencyKey: keyOf(c.req.header('idempotency-key')) })
      return c.json(started, started.isNew ? 202 : 200, { location: `/v1/bulk/${started.id}` })
    },
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/bulk/{bulk}', scope: 'read', summary: 'How a bulk operation stands, with a page of its runs (1,000 where no limit is said).', params: z.object({ bulk: z.string() }), query: z.strictObject(pageQuery),
    answer: { description: 'The bulk operation.', schema: bulkSchema },
    handle: async ({ c, params, query, pawl }) => c.json(await pawl.bulkStatus(params.bulk, query)),
  })
}
