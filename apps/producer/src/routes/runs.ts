/** Starting runs and looking at them. */
import { actionSchema, actionToWire, briefSchema, itemSchema, itemToWire, pageSchema, requestValues, runSchema, runToWire, startedSchema, type StartedRun } from '@pawl/client'
import { ACTION_STATUSES, ITEM_KINDS, ITEM_STATUSES, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { keyOf } from '../idempotency-key.ts'
import { readJson } from '../read-json.ts'
import { readRunStream } from '../read-lines.ts'
import { addRoute, check, requireType, type App, type RouteCall } from '../route.ts'
import { runsQuery, wantedOf } from '../runs-query.ts'
import { numberText, pageQuery, runParams, startBody } from '../schemas.ts'

export function addRunRoutes(app: App, services: Services): void {
  addRoute(app, services, {
    method: 'post', path: '/v1/runs', scope: 'run', takesKey: true, summary: 'Start a run. Send an Idempotency-Key, and a repeated request is the same run.',
    bodies: { 'application/json': { schema: startBody }, 'application/x-ndjson': { schema: z.string() } },
    answer: { status: 201, description: 'The run is in the ledger: 201 when it is new, 200 when the key named it already.', schema: startedSchema },
    handle: async (call) => startedResponse(await start(call)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs', scope: 'read', summary: 'Runs, newest first. `status` and `label` may repeat; `label` is name:value, or a JSON object of several.',
    query: z.strictObject({ ...pageQuery, ...runsQuery, status: z.union([z.enum(RUN_STATUSES), z.array(z.enum(RUN_STATUSES))]).optional() }),
    answer: { description: 'A page of runs.', schema: pageSchema(runSchema) },
    handle: async ({ c, query, pawl }) => {
      const page = await pawl.listRuns(wantedOf(query))
      return c.json({ ...page, entries: page.entries.map(runToWire) })
    },
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}', scope: 'read', summary: 'One run with its counts.', params: runParams,
    answer: { description: 'The run.', schema: runSchema },
    handle: async ({ c, params, pawl }) => c.json(runToWire(await pawl.getRun(params.run))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/items', scope: 'read', summary: 'Items of a run. Values over 64 kB are left out.', params: runParams,
    query: z.strictObject({ ...pageQuery, status: z.enum(ITEM_STATUSES).optional(), kind: z.enum(ITEM_KINDS).optional() }),
    answer: { description: 'A page of items.', schema: pageSchema(itemSchema) },
    handle: async ({ c, params, query, pawl }) => {
      const page = await pawl.listItems(params.run, query)
      return c.json({ ...page, entries: page.entries.map(itemToWire) })
    },
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/items/{seq}', scope: 'read', summary: 'One item.', params: runParams.extend({ seq: numberText }),
    answer: { description: 'The item.', schema: itemSchema },
    handle: async ({ c, params, pawl }) => c.json(itemToWire(await pawl.getItem(params.run, params.seq))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/items/{seq}/brief', scope: 'read', summary: 'What a model is shown next of an item: system and messages, built from the ledger.',
    params: runParams.extend({ seq: numberText }), query: z.strictObject({ tokens: numberText.optional() }),
    answer: { description: 'The brief.', schema: briefSchema },
    handle: async ({ c, params, query, pawl }) => c.json(await pawl.brief(params.run, params.seq, query)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/actions', scope: 'read', summary: 'Actions of a run, or of one item. Values over 64 kB are left out.', params: runParams,
    query: z.strictObject({ ...pageQuery, itemSeq: numberText.optional(), status: z.enum(ACTION_STATUSES).optional() }),
    answer: { description: 'A page of actions.', schema: pageSchema(actionSchema) },
    handle: async ({ c, params, query, pawl }) => {
      const page = await pawl.listActions(params.run, query)
      return c.json({ ...page, entries: page.entries.map(actionToWire) })
    },
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/actions/{action}', scope: 'read', summary: 'One action, its values whole.', params: runParams.extend({ action: numberText }),
    answer: { description: 'The action.', schema: actionSchema },
    handle: async ({ c, params, pawl }) => c.json(actionToWire(await pawl.getAction(params.run, params.action))),
  })
}

async function start({ c, pawl }: RouteCall<unknown, unknown, unknown>): Promise<StartedRun> {
  const key = keyOf(c.req.header('idempotency-key'))
  if (c.req.header('content-type')?.toLowerCase().startsWith('application/x-ndjson')) {
    requireType(c, 'application/x-ndjson')
    const { header, items } = await readRunStream(c.env.incoming)
    return await pawl.startRunFromStream(header, items, { idempotencyKey: key })
  }
  requireType(c, 'application/json')
  const { agent, input, items, ...options } = check('body', startBody, await readJson(c.env.incoming))
  const valueOf = requestValues()
  return await pawl.startRun(agent, valueOf(input), {
    ...options, idempotencyKey: key, items: items?.map((item) => ({ key: item.key, payload: valueOf(item.payload) })),
  })
}

const startedResponse = (started: StartedRun): Response =>
  Response.json(started, { status: started.isNew ? 201 : 200, headers: { location: `/v1/runs/${started.id}` } })
