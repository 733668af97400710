/** A retry on Bull Board, with a real worker behind it: work that is done stays done, work that failed goes on from its record, and no effect comes twice. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jobId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../packages/ledger/src/stage.testsuite.ts'
import type { Browser } from './ground/browser.ts'
import { runProgram, type Program } from './ground/processes.ts'
import { openSite, type Site } from './ground/site.ts'

let site: Site
let receiver: Server
let worker: Program
let runId: string
let olga: Browser
let csrf: string
const effects: string[] = []
let mood = 503

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const body: Buffer[] = []
    request.on('data', (chunk: Buffer) => body.push(chunk))
    request.on('end', () => {
      if (request.url === '/effects') effects.push(Buffer.concat(body).toString())
      response.writeHead(request.url === '/mood' ? mood : 200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => { receiver.listen(0, '127.0.0.1', resolve) })
  site = await openSite()
  worker = runProgram('apps/worker/src/child.ts', [], {
    ...site.places, PAWL_LOG_LEVEL: 'warn', PAWL_CONFIG: new URL('ground/agents.ts', import.meta.url).pathname,
    PAWL_SECURITY_OUTSIDE: JSON.stringify({ receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, model: 'http://127.0.0.1:9/v1', credential: 'x', modelKey: 'x' }),
  })
  const items = [{ key: 'good', payload: { value: 'good', end: 'done' } }, { key: 'bad', payload: { value: 'bad', end: 'fail' } }]
  runId = (await site.direct.startRun('courier', null, { items, policy: { maxFailures: 1 } })).id
  await until('the run has ended', async () => /completed|failed/.test((await site.direct.getRun(runId)).status), 90_000)
  olga = await site.login('olga')
  csrf = await olga.csrf()
}, 150_000)
afterAll(async () => {
  await worker?.stop()
  await new Promise((resolve) => { receiver.close(resolve) })
  await site?.close()
})

/** The last job of an item, wherever the board has it. */
async function retry(seq: number): Promise<number> {
  const { queues } = JSON.parse((await olga.get('/queues/api/queues', { accept: 'application/json' })).text) as { queues: { name: string }[] }
  for (const { name } of queues) {
    for (let generation = 5; generation > 0; generation--) {
      const { status } = await olga.send('PUT', `/queues/api/queues/${encodeURIComponent(name)}/${jobId(runId, seq, generation)}/retry`, { headers: { 'x-pawl-csrf': csrf, accept: 'application/json' } })
      if (status !== 404) return status
    }
  }
  return 404
}
const times = (value: string): number => effects.filter((body) => body.includes(`"${value}"`)).length

test('work that is done is not done again', async () => {
  expect([times('good'), times('bad')]).toEqual([1, 1])
  expect(await retry(1)).toBe(409)
  expect(await site.direct.getItem(runId, 1)).toMatchObject({ status: 'done' })
  expect(times('good')).toBe(1)
})

test('work that failed goes on, and the call it had made is replayed from the record', async () => {
  mood = 200
  expect(await retry(2)).toBe(204)
  await until('the failed item is done', async () => (await site.direct.getItem(runId, 2)).status === 'done', 90_000)
  expect([times('good'), times('bad')]).toEqual([1, 1])
  expect((await site.direct.listEvents(runId, { limit: 1_000 })).filter(({ kind }) => kind === 'run.resumed')).toMatchObject([{ actor: 'olga', data: { reason: 'retry on the board' } }])
})
