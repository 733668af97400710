/** A big run leaves a producer in flat memory, at the reader's pace, and is never taken for whole when it is not. */
import { createClient } from '@pawl/client'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { startProducerProcess, type Child } from './producer-child.testsuite.ts'

const items = 20_000
let database: FreshDatabase
let ledger: Ledger
let child: Child
let runId = ''

beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url, statementTimeoutMs: 60_000, deadlineMs: 60_000 })
  await migrateLedger(ledger)
  child = await startProducerProcess(database.url)
  runId = (await createClient({ url: child.url }).startRun('stock', null, { items: [] })).id
  // 120 MB of payloads, more than the producer may keep.
  await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status) select $1, n, 'work', 'item-' || n, to_json(rpad(n || ' ', 6000, 'x'))::text, 'done' from generate_series(100, $2::integer + 99) as n`, [runId, items])
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms)
    select $1, n, 'key-' || n, 't', '1', 'idempotent', 'committed', 1, '{}', 'd', 1, 1 from generate_series(100, $2::integer + 99) as n`, [runId, items])
}, 120_000)
afterAll(async () => {
  await child.kill()
  await ledger.close()
  await database.drop()
})

/** Reads a little and then nothing, as a stranger on a bad line does. */
async function halfReader(url: URL): Promise<{ close: () => void }> {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  socket.write(`GET /v1/runs/${runId}/export HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return { close: () => socket.destroy() }
}

test('20,000 items of 6 kB each are exported whole, in flat memory, with ten readers beside that have stopped reading', async () => {
  const before = await child.maxRssMb()
  const stuck = await Promise.all(Array.from({ length: 10 }, () => halfReader(new URL(child.url))))
  try {
    const counts: Record<string, number> = {}
    const seen = new Set<string>()
    let told: unknown
    for await (const line of createClient({ url: child.url }).exportRun(runId)) {
      if (line.kind === 'end') told = line.counts
      else counts[line.kind] = (counts[line.kind] ?? 0) + 1
      if (line.kind === 'item' && line.item.kind === 'work') seen.add(line.item.key)
    }
    expect(told).toEqual(counts)
    expect(counts).toMatchObject({ run: 1, action: items })
    expect(seen.size).toBe(items)
    // One page and one chunk for each reader, not the run.
    expect(await child.maxRssMb() - before).toBeLessThan(150)
  } finally {
    for (const reader of stuck) reader.close()
  }
}, 120_000)

test('more exports than a producer gives at once are refused with a time to come back, and the next one is given when a reader is gone', async () => {
  const stuck = await Promise.all(Array.from({ length: 16 }, () => halfReader(new URL(child.url))))
  const ask = async (): Promise<number> => {
    const gone = new AbortController()
    const answer = await fetch(`${child.url}/v1/runs/${runId}/export`, { signal: gone.signal })
    gone.abort()
    return answer.status
  }
  await expect.poll(ask, { timeout: 10_000 }).toBe(503)
  const refusal = await fetch(`${child.url}/v1/runs/${runId}/export`)
  expect([refusal.status, refusal.headers.get('retry-after'), (await refusal.json() as { code: string }).code]).toEqual([503, '5', 'TOO_MANY_EXPORTS'])
  for (const reader of stuck) reader.close()
  await expect.poll(ask, { timeout: 10_000 }).toBe(200)
}, 60_000)

test('an export whose producer dies is refused as cut, never taken for whole', async () => {
  const second = await startProducerProcess(database.url)
  const lines = createClient({ url: second.url }).exportRun(runId)
  let n = 0
  const reading = (async () => {
    for await (const _ of lines) if (++n === 1_000) await second.kill()
  })()
  await expect(reading).rejects.toMatchObject({ code: 'EXPORT_CUT' })
  expect(n).toBeLessThan(2 * items)
}, 60_000)
