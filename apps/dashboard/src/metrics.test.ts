import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { makeMetrics } from './metrics.ts'

const token = 'a-token-of-thirty-two-characters'

function appWith(given: string | undefined): Hono {
  const { count, tell } = makeMetrics(given)
  return new Hono().use(count).get('/metrics', tell).get('/runs/:run', (c) => c.text('the run')) as unknown as Hono
}

test('the dashboard tells its figures to whoever has the token, and without one to nobody', async () => {
  for (const authorization of ['', 'Bearer', 'Bearer undefined']) expect((await appWith(undefined).request('/metrics', { headers: { authorization } })).status).toBe(401)
  const app = appWith(token)
  for (const authorization of [undefined, token, 'Bearer', `Bearer ${token}x`, 'Basic abc']) {
    const answer = await app.request('/metrics', { headers: authorization === undefined ? {} : { authorization } })
    expect(answer.status, authorization).toBe(401)
    expect(await answer.text()).not.toContain('pawl_')
  }
  expect((await app.request('/metrics', { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
})

test('requests are counted by route, whatever paths are asked for', async () => {
  const app = appWith(token)
  for (const path of ['/runs/one', '/runs/two', '/nowhere', '/nowhere/else']) await app.request(path)
  await app.request('/runs/one', { method: 'PURGE' })
  const text = await (await app.request('/metrics', { headers: { authorization: `Bearer ${token}` } })).text()
  expect(text).toContain('pawl_http_requests_total{method="GET",route="/runs/:run",status="200"} 2')
  expect(text).toContain('method="other"')
  const routes = [...text.matchAll(/^pawl_http_requests_total\{.*?route="(.*?)"/gm)].map(([, route]) => route)
  expect(new Set(routes)).toEqual(new Set(['/runs/:run', '/*']))
})
