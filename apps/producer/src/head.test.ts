/** HEAD says what GET would, and leaves nothing running: nobody hangs up on an answer that has no body. */
import { Ledger, withTransaction } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../packages/ledger/src/stage.testsuite.ts'
import { ask, openProducer, type TestProducer } from './producer.testsuite.ts'

let open: TestProducer
let beside: Ledger
beforeAll(async () => {
  open = await openProducer()
  beside = new Ledger({ url: open.databaseUrl, connections: 1 })
})
afterAll(async () => {
  await beside.close()
  await open.close()
})

const waiting = async (): Promise<number> => (await beside.query<{ n: number }>(
  `select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"events"%'`))[0]?.n ?? -1

test('HEAD of a stream leaves nobody who reads the ledger', async () => {
  const { body } = await ask(open.url, 'POST', '/v1/runs', { agent: 'stock', items: [{ key: 'a', payload: 1 }] })
  const path = `/v1/runs/${String(body['id'])}`
  for (let n = 0; n < 5; n++) {
    for (const [of, type] of [['/events', 'text/event-stream'], ['/export', 'application/x-ndjson'], ['', 'application/json']] as const) {
      const { status, headers } = await ask(open.url, 'HEAD', path + of)
      expect([status, headers.get('content-type')]).toEqual([200, type])
    }
  }
  const gone = new AbortController()
  await fetch(`${open.url}${path}/events`, { signal: gone.signal })
  // Who follows events asks every half second. When the one that is there asked a second time, any other would have, too.
  const seen: number[] = []
  for (let round = 0; round < 2; round++) {
    await withTransaction(open.ledger, { timeoutMs: 30_000 }, async (tx) => {
      await tx.query('lock table pawl.events in access exclusive mode')
      await until('the stream asks', async () => (await waiting()) > 0)
      if (round > 0) await until('it has asked for a while', async () => (seen.push(await waiting()), seen.length >= 20))
    })
  }
  gone.abort()
  expect(Math.max(...seen)).toBe(1)
})
