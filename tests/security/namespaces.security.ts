/** Two tenants on one ledger: what is another’s looks exactly like what is not there. */
import { randomUUID } from 'node:crypto'
import { newRunId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { producerRoutes } from './ground/routes.ts'
import { ask, openSite, type Site } from './ground/site.ts'

let site: Site
let runId: string
const secretLabel = 'label-of-the-other-tenant'
beforeAll(async () => {
  site = await openSite()
  const items = Array.from({ length: 2_000 }, (_, i) => ({ key: `item-${i}`, payload: { of: 'the other tenant' } }))
  runId = (await site.direct.startRun('plain', { of: 'the other tenant' }, { items, labels: { who: secretLabel }, idempotencyKey: 'the-same-key' })).id
})
afterAll(() => site?.close())

/** What each verb takes, so that the answer comes from the ledger and not from the check of the body. */
const bodies: Readonly<Record<string, unknown>> = {
  settle: { answer: 'abandon', attempt: 1, evidence: 0 }, answer: { answer: 1 }, approve: { digest: 'x' }, reject: { digest: 'x' }, repin: { to: '1' }, budget: { run: { turns: 5 } }, approvals: {},
}
const routesFor = (run: string) => producerRoutes({ run, seq: '1', action: '1', question: '1' }).filter(({ pattern }) => pattern.startsWith('/v1/runs/:run'))
const answerOf = async (run: string, route: { method: string; path: string }, token: string) => {
  const body = route.method === 'GET' ? undefined : bodies[route.path.split('/').at(-1) ?? ''] ?? {}
  const { status, headers, text } = await ask(site, token, route.method, route.path, body, { accept: 'application/json' })
  return { status, type: headers.get('content-type'), names: [...headers.keys()].filter((name) => name !== 'date').toSorted(), text: text.replaceAll(run, 'RUN') }
}

describe('a run of another namespace', () => {
  test('is answered as one that does not exist, word for word, on every route that names a run', async () => {
    const unknown = newRunId()
    const [theirs, nobodys] = [routesFor(runId), routesFor(unknown)]
    expect(theirs.length).toBeGreaterThan(15)
    for (const [i, route] of theirs.entries()) {
      const [foreign, missing] = [await answerOf(runId, route, site.tokens.foreign), await answerOf(unknown, nobodys[i] ?? route, site.tokens.foreign)]
      expect([route.pattern, foreign]).toEqual([route.pattern, missing])
      expect([route.pattern, foreign.status]).toEqual([route.pattern, 404])
    }
    expect(await site.direct.getRun(runId)).toMatchObject({ paused: false, status: 'running' })
    // Not because nothing is ever found: its own tenant sees it.
    for (const route of theirs.filter(({ method, pattern }) => method === 'GET' && !/brief|events|attempts|turns|:action/.test(pattern))) expect([route.pattern, (await answerOf(runId, route, site.tokens.all)).status]).toEqual([route.pattern, 200])
  })

  test('is not in any list, count, search or inbox of theirs', async () => {
    for (const path of ['/v1/runs', '/v1/runs?status=running', `/v1/runs?label=who:${secretLabel}`, '/v1/runs?agent=plain', '/v1/inbox', `/v1/inbox?runId=${runId}`, '/v1/runs/counts', `/v1/runs?search=${runId}`, '/v1/runs?search=the-same-key', `/v1/runs?search=${secretLabel}`]) {
      const { text, status } = await ask(site, site.tokens.foreign, 'GET', path)
      expect([path, status < 500, text.replace(`search=${runId}`, '').includes(runId) && status === 200, text.includes(secretLabel)]).toEqual([path, true, false, false])
    }
    expect(JSON.parse((await ask(site, site.tokens.foreign, 'GET', '/v1/runs')).text)).toMatchObject({ entries: [] })
  })

  test('is not reached through a cursor, a stream or a key of the other tenant', async () => {
    await site.direct.startRun('plain', null, { items: [{ key: 'x', payload: null }] })
    const { cursor } = JSON.parse((await ask(site, site.tokens.all, 'GET', '/v1/runs?limit=1')).text) as { cursor: string }
    expect(cursor).not.toBe(null)
    expect((await ask(site, site.tokens.foreign, 'GET', `/v1/runs?cursor=${encodeURIComponent(cursor)}`)).text).not.toContain(runId)
    const sameKey = await ask(site, site.tokens.foreign, 'POST', '/v1/runs', { agent: 'plain', items: [{ key: 'own' }] }, { 'idempotency-key': 'the-same-key' })
    expect(sameKey.status).toBe(201)
    expect(sameKey.text).not.toContain(runId)
  })

  test('cannot be told from one that does not exist by the time the answer takes', async () => {
    const timed = async (run: string): Promise<number> => {
      const begun = performance.now()
      await ask(site, site.tokens.foreign, 'GET', `/v1/runs/${run}`)
      return performance.now() - begun
    }
    const foreign: number[] = []
    const missing: number[] = []
    for (let i = 0; i < 60; i++) {
      // Alternately, each first half of the time: what else this machine does falls on both.
      const pair = [async () => foreign.push(await timed(runId)), async () => missing.push(await timed(newRunId()))]
      for (const one of i % 2 === 0 ? pair : pair.toReversed()) await one()
    }
    const quarter = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 4)] ?? 0
    const [theirs, nobodys] = [quarter(foreign.slice(10)), quarter(missing.slice(10))]
    expect(Math.abs(theirs - nobodys)).toBeLessThan(Math.max(3, nobodys * 0.5))
  })

  test('is not touched by a verb for many', async () => {
    const unknown = newRunId()
    const started = await ask(site, site.tokens.foreign, 'POST', '/v1/bulk', { verb: 'pause', runIds: [runId, unknown] })
    expect(started.status).toBeLessThan(300)
    const { id } = JSON.parse(started.text) as { id: string }
    const read = async () => JSON.parse((await ask(site, site.tokens.foreign, 'GET', `/v1/bulk/${id}`)).text) as { done: number; total: number; failed: number; entries: { runId: string; outcome: string; detail: unknown }[] }
    await expect.poll(async () => { const now = await read(); return now.entries.every(({ outcome }) => outcome !== 'open') }, { timeout: 20_000 }).toBe(true)
    const outcomes = (await read()).entries.map(({ runId: run, outcome, detail }) => JSON.stringify({ outcome, detail }).replaceAll(run, 'RUN'))
    expect(outcomes).toHaveLength(2)
    expect(new Set(outcomes).size).toBe(1)
    expect((await site.direct.getRun(runId)).paused).toBe(false)
    const [foreign, missing] = [await ask(site, site.tokens.all, 'GET', `/v1/bulk/${id}`), await ask(site, site.tokens.all, 'GET', `/v1/bulk/${randomUUID()}`)]
    expect([foreign.status, missing.status]).toEqual([404, 404])
    const byFilter = await ask(site, site.tokens.foreign, 'POST', '/v1/bulk', { verb: 'cancel', filter: { agent: 'plain' } })
    const { id: second } = JSON.parse(byFilter.text) as { id: string }
    await expect.poll(async () => (await ask(site, site.tokens.foreign, 'GET', `/v1/bulk/${second}`)).text.includes('"open"'), { timeout: 20_000 }).toBe(false)
    expect((await site.direct.getRun(runId)).status).toBe('running')
  })
})

test('ids that are none are answered as ids that name nothing', async () => {
  for (const id of ['x', '1', '00000000-0000-0000-0000-000000000000', "1' or '1'='1", '%27%3B--', '../runs', '%00', 'null', runId.slice(0, -1), `${runId}0`]) {
    const { status } = await ask(site, site.tokens.all, 'GET', `/v1/runs/${encodeURIComponent(id)}`)
    expect([id, status]).toEqual([id, 404])
  }
})
