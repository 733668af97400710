/** The routes of the apps, read off the apps: one that is added tomorrow is tested tomorrow. */
import { createBullBoard } from '@bull-board/api'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { z } from 'zod'
import { createApp as createDashboardApp } from '../../../apps/dashboard/src/app.ts'
import { placeOf } from '../../../apps/dashboard/src/place.ts'
import { createApp as createProducerApp } from '../../../apps/producer/src/app.ts'

export interface FoundRoute {
  readonly method: string
  /** Every parameter filled in. */
  readonly path: string
  /** As it is declared, `:name` for parameters. */
  readonly pattern: string
}

/** Stands for every part of an app that only a request would use. */
const anything: never = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : name === 'then' ? undefined : anything),
  apply: () => anything,
}) as never

const partsWith = <T extends object>(given: Partial<T>): T => new Proxy(given, { get: (parts, name) => (name in parts ? Reflect.get(parts, name) as unknown : anything) }) as T

interface Listed { readonly routes: readonly { readonly method: string; readonly path: string }[] }

/** Of a middleware (`ALL /*`) nothing is asked: it is in front of all of these. */
function routesOf(app: Listed, before: string, fill: Readonly<Record<string, string>>): FoundRoute[] {
  const seen = new Map<string, FoundRoute>()
  for (const { method, path: pattern } of app.routes) {
    if (method === 'ALL' && /^\/(queues\/)?\*$/.test(pattern)) continue
    const path = before + pattern.replaceAll(/:(\w+)(\{[^}]*\})?\??/g, (_, name: string) => fill[name] ?? '1').replaceAll('*', 'x')
    for (const each of method === 'ALL' ? ['GET', 'POST'] : [method]) seen.set(`${each} ${path}`, { method: each, path, pattern: before + pattern })
  }
  return [...seen.values()]
}

export const producerRoutes = (fill: Readonly<Record<string, string>> = {}): FoundRoute[] => routesOf(createProducerApp(partsWith<Parameters<typeof createProducerApp>[0]>({ tokens: [] })), '', fill)

/** Its own, Bull Board's as this version of it has them, and the producer's behind `/api`. */
export function dashboardRoutes(fill: Readonly<Record<string, string>> = {}): FoundRoute[] {
  const own = routesOf(createDashboardApp(partsWith<Parameters<typeof createDashboardApp>[0]>({ place: placeOf(undefined), host: '127.0.0.1' })) as Listed, '', fill)
  const isProxied = own.some(({ pattern }) => pattern.startsWith('/api/'))
  return [...own, ...boardRoutes(fill), ...(isProxied ? producerRoutes(fill).filter(({ pattern }) => pattern.startsWith('/v1/')).map((route) => ({ ...route, path: `/api${route.path}`, pattern: `/api${route.pattern}` })) : [])]
}

function boardRoutes(fill: Readonly<Record<string, string>>): FoundRoute[] {
  const adapter = new HonoAdapter(serveStatic)
  adapter.setBasePath('/queues')
  createBullBoard({ queues: [], serverAdapter: adapter })
  return routesOf(adapter.registerPlugin() as unknown as Listed, '/queues', { queueName: 'x', jobId: 'x', queueStatus: 'failed', ...fill })
}

const openApi = z.object({ paths: z.record(z.string(), z.record(z.string(), z.object({ security: z.array(z.object({ token: z.array(z.string()) })).optional() }))) })

/** `GET /v1/runs/{run}` and the like, with the scope each declares. */
export async function declaredScopes(producerUrl: string): Promise<ReadonlyMap<string, string>> {
  const { paths } = openApi.parse(await (await fetch(`${producerUrl}/openapi.json`)).json())
  return new Map(Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => [`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, security?.[0]?.token[0] ?? 'none'] as const)))
}
