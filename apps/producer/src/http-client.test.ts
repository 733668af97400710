import { createClient, type PawlClient } from '@pawl/client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeClient } from '../../../packages/client/src/client.testsuite.ts'
import { judge, operationsOf, readDocument, type Exchange } from './openapi.testsuite.ts'
import { openProducer, sha256, type TestProducer } from './producer.testsuite.ts'

let producer: TestProducer | undefined
/** Everything the suite asked and was told. */
const exchanges: Promise<Exchange>[] = []
const called = new Set<string>()

beforeAll(() => {
  const plain = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const response = await plain(input, init)
    const copy = response.clone()
    if (input instanceof URL) {
      exchanges.push((async () => ({
        method: init?.method ?? 'GET', url: input, body: typeof init?.body === 'string' ? JSON.parse(init.body) as unknown : undefined,
        status: copy.status, type: copy.headers.get('content-type')?.split(';')[0] ?? '', answer: await copy.text(),
      }))())
    }
    return response
  })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await producer?.close()
})

/** Notes which methods the suite calls. */
const watched = (client: PawlClient): PawlClient => new Proxy(client, {
  get(target, name, receiver) {
    called.add(String(name))
    return Reflect.get(target, name, receiver) as unknown
  },
})

describeClient('the client over HTTP', async () => {
  producer = await openProducer({ PAWL_TOKENS: `ann:read+run+operate:${sha256('secret')}` })
  return { client: watched(createClient({ url: producer.url, token: 'secret' })), ledger: producer.ledger, actor: 'ann' }
})

test('what the client asked and was told fits the API’s description, exchange by exchange; no method was left out, nor any operation it has', async () => {
  const document = readDocument(await (await fetch(`${producer?.url ?? ''}/openapi.json`)).text())
  const judged = (await Promise.all(exchanges)).map((exchange) => ({ exchange, ...judge(document, exchange) }))
  expect(judged.flatMap(({ exchange, wrong }) => wrong.map((sentence) => `${exchange.method} ${exchange.url.pathname} ${exchange.status}: ${sentence}`))).toEqual([])
  expect(judged.length).toBeGreaterThan(200)
  const methods = Object.keys(createClient({ url: 'http://127.0.0.1:1' })).filter((name) => name !== 'close')
  expect(methods.filter((name) => !called.has(name))).toEqual([])
  const asked = new Set(judged.map(({ operationId }) => operationId))
  // One call each has them by a list instead.
  const otherwise = new Set(['get_health', 'get_ready', 'get_metrics', 'get_openapi_json', 'get_docs', 'post_runs_of_run_actions_of_action_approve', 'post_runs_of_run_actions_of_action_reject'])
  expect(operationsOf(document).map(({ operationId }) => operationId).filter((id) => !asked.has(id) && !otherwise.has(id))).toEqual([])
}, 120_000)
