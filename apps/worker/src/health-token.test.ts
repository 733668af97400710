/** Who is told a worker's metrics. Neither store is asked, so neither is there. */
import { Ledger } from '@pawl/ledger'
import { connectQueue } from '@pawl/queue'
import { expect, test } from 'vitest'
import { serveHealth } from './health.ts'

const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'

test.each([
  ['on loopback they need no token', '127.0.0.1', undefined, undefined, 200],
  ['where others reach it and no token is set, nobody is told', '0.0.0.0', undefined, 'Bearer anything-at-all-123', 401],
  ['without the token nobody is told', '0.0.0.0', 'a-token-of-its-own-1234', undefined, 401],
  ['nor with another', '127.0.0.1', 'a-token-of-its-own-1234', 'Bearer a-token-of-its-own-1235', 401],
  ['with it, everybody', '0.0.0.0', 'a-token-of-its-own-1234', 'Bearer a-token-of-its-own-1234', 200],
])('%s', async (_, host, metricsToken, authorization, status) => {
  const ledger = new Ledger({ url: nowhere })
  const queue = connectQueue({ backend: 'postgres', url: nowhere, ledgerId: crypto.randomUUID(), onError: () => {} })
  const health = await serveHealth({ port: 0, host, metricsToken }, { pids: [1, 2], deaths: 3, isComplete: true, metrics: async () => 'pawl_attempts_running 5\n' }, { ledger, queue })
  try {
    const answer = await fetch(`${health.url.replace('0.0.0.0', '127.0.0.1')}/metrics`, { headers: authorization === undefined ? {} : { authorization } })
    expect(answer.status).toBe(status)
    const text = await answer.text()
    expect(text.includes('pawl_worker_processes 2') && text.includes('pawl_worker_deaths_total 3') && text.includes('pawl_attempts_running 5')).toBe(status === 200)
    expect((await fetch(`${health.url.replace('0.0.0.0', '127.0.0.1')}/health`)).status).toBe(200)
  } finally {
    await health.close()
    await queue.close()
    await ledger.close()
  }
})
