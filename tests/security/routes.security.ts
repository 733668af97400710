/** Nothing is served to strangers: every route of every app, as the apps list them, needs a token or a session, and takes the scope or role it says. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from './ground/browser.ts'
import { dashboardRoutes, declaredScopes, producerRoutes, type FoundRoute } from './ground/routes.ts'
import { ask, openSite, type Site } from './ground/site.ts'

let site: Site
let runId: string
beforeAll(async () => {
  site = await openSite()
  runId = (await site.direct.startRun('plain', null, { items: [{ key: 'one', payload: { text: 'a value' } }] })).id
})
afterAll(() => site?.close())

const fill = () => ({ run: runId, seq: '1', action: '1', question: '1', verb: 'pause', id: randomUUID() })

/** The same for everybody, without a word about this installation. */
const openOfProducer = ['GET /health', 'GET /ready', 'GET /openapi.json', 'GET /docs', 'GET /docs/start.js', 'GET /docs/:asset']

describe('the producer', () => {
  test('answers 401 to whoever has no token, on every route but its probes and its description', async () => {
    const routes = producerRoutes(fill()).filter(({ method, pattern }) => !openOfProducer.includes(`${method} ${pattern}`))
    expect(routes.length).toBeGreaterThan(20)
    const wrong: string[] = []
    for (const { method, path } of routes) {
      for (const authorization of [undefined, 'Bearer', `Bearer ${site.tokens.all}x`, `Basic ${Buffer.from(`all:${site.tokens.all}`).toString('base64')}`, `Bearer ${'0'.repeat(48)}`]) {
        const { status, text } = await ask(site, undefined, method, path, undefined, authorization === undefined ? {} : { authorization })
        if (status !== 401 || text.includes('plain')) wrong.push(`${method} ${path} with ${authorization ?? 'nothing'}: ${status}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('takes a route’s scope and no other, and lets nobody write with the scope to read', async () => {
    const scopes = await declaredScopes(site.producer)
    const wrong: string[] = []
    for (const { method, path, pattern } of producerRoutes(fill()).filter((route) => route.pattern.startsWith('/v1/'))) {
      const scope = scopes.get(`${method} ${pattern}`)
      if (scope === undefined || scope === 'none') { wrong.push(`${method} ${pattern} declares no scope`); continue }
      if (method !== 'GET' && scope === 'read') wrong.push(`${method} ${pattern} writes with the scope read`)
      for (const has of ['read', 'run', 'operate'] as const) {
        if (has === scope) continue
        const { status } = await ask(site, site.tokens[has], method, path)
        if (status !== 403) wrong.push(`${method} ${path} with the scope ${has} instead of ${scope}: ${status}`)
      }
    }
    expect(wrong).toEqual([])
    expect((await ask(site, site.tokens.run, 'GET', '/metrics')).status).toBe(403)
  })

  test('knows a token by all of it', async () => {
    const { read } = site.tokens
    for (const near of [read.slice(0, -1), `${read}0`, ` ${read}`.repeat(2), read.toUpperCase(), '']) {
      expect((await ask(site, near, 'GET', '/v1/runs')).status, near).toBe(401)
    }
    expect((await ask(site, read, 'GET', '/v1/runs')).status).toBe(200)
  })
})

const openOfDashboard = ['GET /health', 'GET /ready', 'GET /login', 'POST /login']
/** Files of the pages, the same for everybody. */
const isAsset = ({ pattern }: FoundRoute): boolean => pattern.startsWith('/static/')

describe('the dashboard', () => {
  const guarded = () => dashboardRoutes(fill()).filter((route) => !openOfDashboard.includes(`${route.method} ${route.pattern}`) && !isAsset(route))

  test('shows nothing and does nothing without a session, on every route but the login: its own, the board’s, the API behind it', async () => {
    const routes = guarded()
    expect(routes.filter(({ pattern }) => pattern.startsWith('/queues/')).length).toBeGreaterThan(30)
    const before = await site.direct.getRun(runId)
    const wrong: string[] = []
    for (const { method, path } of routes) {
      for (const cookie of ['', 'pawl_1=x']) {
        for (const accept of ['text/html', 'application/json']) {
          const { status, text, headers } = await new Browser(site.dashboard.url).send(method, path, { headers: { accept, cookie } })
          const isToLogin = status === 302 && (headers.get('location') ?? '').startsWith('/login')
          if (!(status === 401 || isToLogin) || text.includes(runId) || text.includes('plain')) wrong.push(`${method} ${path} as ${accept}: ${status}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(await site.direct.getRun(runId)).toEqual(before)
  })

  test('lets who may only read, or only run, do nothing that needs more', async () => {
    const scopes = await declaredScopes(site.producer)
    const before = await site.direct.getRun(runId)
    const wrong: string[] = []
    for (const name of ['rita', 'ron']) {
      const browser = await site.login(name)
      const csrf = await browser.csrf()
      for (const { method, path, pattern } of guarded()) {
        if (method === 'GET' || pattern === '/logout') continue
        if (name === 'ron' && pattern.startsWith('/api/') && scopes.get(`${method} ${pattern.slice('/api'.length)}`) === 'run') continue
        const { status } = await browser.send(method, path, { headers: { 'x-pawl-csrf': csrf, accept: 'application/json' } })
        if (status !== 403) wrong.push(`${name}: ${method} ${path}: ${status}`)
      }
    }
    expect(wrong).toEqual([])
    expect(await site.direct.getRun(runId)).toEqual(before)
  })
})
