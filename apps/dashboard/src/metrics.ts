/**
 * The dashboard's own figures. `/metrics` is no page: a scraper has no session, so it takes a token of its own, and where none is set nothing is told.
 */
import { METRICS } from '@pawl/core'
import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { collectDefaultMetrics, Counter, Registry } from 'prom-client'
import { isEqual } from './auth/seal.ts'

export interface DashboardMetrics {
  /** Counts every request by the route that answered it: paths are endless, routes are not. */
  readonly count: MiddlewareHandler
  readonly tell: MiddlewareHandler
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

export function makeMetrics(token: string | undefined): DashboardMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { help, labels } = METRICS.pawl_http_requests_total
  const requests = new Counter({ name: 'pawl_http_requests_total', help, labelNames: [...labels], registers: [registry] })
  return {
    count: async (c, next) => {
      await next()
      requests.inc({ method: methods.has(c.req.method) ? c.req.method : 'other', route: routePath(c, -1), status: String(c.res.status) })
    },
    tell: async (c) => {
      const given = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
      if (token === undefined || given === undefined || !isEqual(given, token)) return c.text('Send "Authorization: Bearer <PAWL_METRICS_TOKEN>". Where it is not set, nobody is told.\n', 401, { 'www-authenticate': 'Bearer' })
      return c.text(await registry.metrics(), 200, { 'content-type': registry.contentType })
    },
  }
}
