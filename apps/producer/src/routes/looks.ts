/** What pages look at again and again: counts, the picture of a run, its failures and pace, the fleet, the tools. */
import { attemptsSchema, failuresSchema, fleetSchema, paceSchema, runCountsSchema, spentSchema, squaresSchema, toolsSchema, turnsSchema, turnsToWire, type Failures, type Fleet, type Squares } from '@pawl/client'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { briefly } from '../briefly.ts'
import { addRoute, type App } from '../route.ts'
import { runsQuery, wantedOf } from '../runs-query.ts'
import { numberText, runParams } from '../schemas.ts'

export function addLookRoutes(app: App, services: Services): void {
  const pictures = briefly<Squares>(1_000)
  const groups = briefly<Failures>(1_000)
  const fleets = briefly<Fleet>(1_000)
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/counts', scope: 'read', summary: 'Runs by status under a filter, and how much waits for people in all.', query: z.strictObject(runsQuery),
    answer: { description: 'The counts.', schema: runCountsSchema },
    handle: async ({ c, query, pawl }) => c.json(await pawl.countRuns(wantedOf(query))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/squares', scope: 'read', summary: 'A run as a picture: one letter per work item in order, run-length encoded. At most a second old.', params: runParams,
    answer: { description: 'The picture.', schema: squaresSchema },
    handle: async ({ c, params, caller, pawl }) => c.json(await pictures(`${caller.namespace} ${params.run}`, () => pawl.squares(params.run))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/failures', scope: 'read', summary: 'Failed and blocked items of a run, grouped by why. At most a second old.', params: runParams,
    answer: { description: 'The groups.', schema: failuresSchema },
    handle: async ({ c, params, caller, pawl }) => c.json(await groups(`${caller.namespace} ${params.run}`, () => pawl.failures(params.run))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/pace', scope: 'read', summary: 'Items done by the minute, and when the rest would be at that pace.', params: runParams,
    query: z.strictObject({ minutes: numberText.optional() }), answer: { description: 'The pace.', schema: paceSchema },
    handle: async ({ c, params, query, pawl }) => c.json(await pawl.pace(params.run, query)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/spent', scope: 'read', summary: 'What the models of a run took so far: turns, tokens and cost, all its items together.', params: runParams,
    answer: { description: 'What was spent.', schema: spentSchema },
    handle: async ({ c, params, pawl }) => c.json(await pawl.spent(params.run)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/items/{seq}/attempts', scope: 'read', summary: 'Each claim of an item, with the worker, the pins and what became of it.', params: runParams.extend({ seq: numberText }),
    answer: { description: 'The attempts, oldest first.', schema: attemptsSchema },
    handle: async ({ c, params, pawl }) => c.json(await pawl.attempts(params.run, params.seq)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/runs/{run}/items/{seq}/turns', scope: 'read', summary: 'What a model decided in an item, turn by turn.', params: runParams.extend({ seq: numberText }),
    answer: { description: 'The turns, oldest first.', schema: turnsSchema },
    handle: async ({ c, params, pawl }) => c.json(turnsToWire(await pawl.turns(params.run, params.seq))),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/fleet', scope: 'read', summary: 'Workers, queues, what waits, and where the ledger and the queue differ: of the whole ledger, whatever the namespace. At most a second old.',
    answer: { description: 'The fleet.', schema: fleetSchema },
    handle: async ({ c, pawl }) => c.json(await fleets('', () => pawl.fleet())),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/tools', scope: 'read', summary: 'The agents this producer knows, with what each of their tools does to the world.',
    answer: { description: 'Agents and tools.', schema: toolsSchema },
    handle: async ({ c, pawl }) => c.json(await pawl.tools()),
  })
}
