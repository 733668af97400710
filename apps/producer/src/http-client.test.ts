import { createClient, type PawlClient } from '@pawl/client'
import { newId } from '@pawl/core'
import { beat } from '@pawl/ledger'
import { offerOf } from '@pawl/tools'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeClient } from '../../../packages/client/src/client.testsuite.ts'
import { judge, operationsOf, readDocument, type Exchange } from './openapi.testsuite.ts'
import { mailing, openProducer, sha256, stock, type TestProducer } from './producer.testsuite.ts'

let producer: TestProducer | undefined
/** Everything the suite asked and was told. */
const exchanges: Promise<Exchange>[] = []
const called = new Set<string>()
let beating: NodeJS.Timeout | undefined

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
  clearInterval(beating)
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
  // Somebody who would serve the suite's agents, and takes nothing: what nobody serves for a minute is blocked by the sweep, and on a slow machine the suite takes longer.
  const worker = { id: newId(), name: 'idle', host: 'nowhere', bootId: null, pidNamespace: null, pid: 1, pidStartedAt: null }
  producer = await openProducer({ PAWL_TOKENS: `ann:read+run+operate:${sha256('secret')}` })
  const { ledger } = producer
  const builds = JSON.stringify(Object.fromEntries([mailing, stock].map((agent) => [`${agent.name}@${agent.version}`, { ...offerOf(agent), items: true }])))
  await beat(ledger, worker, [], builds)
  beating = setInterval(() => { beat(ledger, worker, [], builds).catch(() => undefined) }, 5_000)
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
  // One call each has them by a list instead; a scaler is no client.
  const otherwise = new Set(['get_health', 'get_ready', 'get_metrics', 'get_backlog', 'get_openapi_json', 'get_docs', 'post_runs_of_run_actions_of_action_approve', 'post_runs_of_run_actions_of_action_reject'])
  expect(operationsOf(document).map(({ operationId }) => operationId).filter((id) => !asked.has(id) && !otherwise.has(id))).toEqual([])
}, 120_000)
