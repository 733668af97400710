/** Who is named in the events when somebody stands in between. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, openProducer, sha256, type TestProducer } from './producer.testsuite.ts'

let open: TestProducer
let guarded: TestProducer
beforeAll(async () => {
  [open, guarded] = await Promise.all([
    openProducer(),
    openProducer({ PAWL_TOKENS: `ops:read+run+operate:${sha256('o')},window:read+run+operate+delegate:${sha256('w')},peek:read+delegate:${sha256('p')}` }),
  ])
})
afterAll(async () => { await Promise.all([open.close(), guarded.close()]) })

const items = [{ key: 'a', payload: 1 }]
const bearer = (token: string, actor?: string): Record<string, string> => ({ authorization: `Bearer ${token}`, ...(actor === undefined ? {} : { 'pawl-actor': actor }) })

async function actorsOf(producer: TestProducer, id: string): Promise<string[]> {
  return (await producer.ledger.query<{ actor: string }>(`select distinct actor from pawl.events where run_id = $1 and actor <> 'pawl' order by 1`, [id])).map((row) => row.actor)
}

test('a token with delegate acts under the name it gives, and under its own without one', async () => {
  const started = await ask(guarded.url, 'POST', '/v1/runs', { agent: 'stock', items }, bearer('w', 'ann@example.org'))
  const id = String(started.body['id'])
  expect((await ask(guarded.url, 'POST', `/v1/runs/${id}/pause`, {}, bearer('w'))).status).toBe(200)
  expect(await actorsOf(guarded, id)).toEqual(['ann@example.org', 'window'])
  expect((await ask(guarded.url, 'GET', `/v1/runs/${id}`, undefined, bearer('w'))).body).toMatchObject({ createdBy: 'ann@example.org' })
})

test('a token without delegate that gives a name is refused, and nothing happens', async () => {
  const before = await guarded.countRuns()
  for (const [method, path, body] of [['POST', '/v1/runs', { agent: 'stock', items }], ['GET', '/v1/runs', undefined]] as const) {
    const answer = await ask(guarded.url, method, path, body, bearer('o', 'root'))
    expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN', scope: 'delegate' } })
    expect(String(answer.body['detail'])).toMatch(/"ops".*delegate/)
  }
  expect(await guarded.countRuns()).toBe(before)
})

test('delegate gives nothing but the name: what the token may not do, it may not do for anybody', async () => {
  expect(await ask(guarded.url, 'POST', '/v1/runs', { agent: 'stock', items }, bearer('p', 'ann'))).toMatchObject({ status: 403, body: { scope: 'run' } })
})

test.each(['', ' ', 'ann lee', 'a'.repeat(65), 'ann\u00e9', 'a,b', '<b>'])('a name that is none, %j, is refused', async (actor) => {
  expect(await ask(guarded.url, 'GET', '/v1/runs', undefined, bearer('w', actor))).toMatchObject({ status: 400, body: { code: 'BAD_ACTOR' } })
})

test('without tokens the name is taken: whoever reaches the loopback address may do everything anyway', async () => {
  const id = String((await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items }, { 'pawl-actor': 'ann' })).body['id'])
  expect(await actorsOf(open, id)).toEqual(['ann'])
})
