import { waitMs } from '@pawl/core'
import { createPostgresBackend, Queue, type BackendFactory, type IQueueBackend } from 'bullmq'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, it } from 'vitest'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { connectQueue } from './connect.ts'
import { nameQueues } from './names.ts'
import { queueContract } from './queue.testsuite.ts'

async function ask<T extends pg.QueryResultRow>(url: string, text: string, values: readonly string[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

queueContract({
  backend: 'postgres',
  async prepare() {
    const database = await freshDatabase()
    return { url: database.url, leave: () => database.drop() }
  },
  async empty(url) { await ask(url, 'drop schema if exists pawl_queue cascade') },
  look(url, _ledgerId, name) {
    const factory: BackendFactory<IQueueBackend> = (queue, options, how) =>
      createPostgresBackend(queue, { ...options, connection: { connectionString: url, schema: 'pawl_queue', max: 2 } }, how)
    return new Queue(name, { connection: {} }, factory)
  },
})

it('truncated tables are noticed like a dropped schema', async () => {
  const database = await freshDatabase()
  const queue = connectQueue({ backend: 'postgres', url: database.url, ledgerId: randomUUID(), onError: () => undefined })
  try {
    expect([await queue.checkMarker(), await queue.checkMarker()]).toEqual([false, true])
    await ask(database.url, 'truncate pawl_queue.job cascade')
    expect([await queue.checkMarker(), await queue.checkMarker()]).toEqual([false, true])
  } finally {
    await queue.close()
    await database.drop()
  }
})

it('backends killed at any moment, lent, listening or closing, never end the process, and doorbells still arrive', async () => {
  const database = await freshDatabase()
  const ledgerId = randomUUID()
  const queue = connectQueue({ backend: 'postgres', url: database.url, ledgerId, onError: () => undefined })
  const heard = new Set<number>()
  let isOver = false
  const killing = (async () => {
    while (!isOver) {
      await ask(database.url, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
      await waitMs(15)
    }
  })()
  try {
    for (let round = 0; round < 6; round++) {
      const subscription = await queue.subscribe({ kind: 'split' }, 5, (bell) => { heard.add(bell.seq); return Promise.resolve() })
      await queue.ring([{ ledgerId, runId: randomUUID(), seq: round, generation: 1, channel: { kind: 'split' }, first: false, title: 'x' }]).catch(() => undefined)
      await waitMs(250)
      await subscription.close(100)
    }
    isOver = true
    await killing
    const last = await queue.subscribe({ kind: 'split' }, 5, (bell) => { heard.add(bell.seq); return Promise.resolve() })
    const ring = () => queue.ring([{ ledgerId, runId: randomUUID(), seq: 99, generation: 1, channel: { kind: 'split' }, first: false, title: 'x' }]).then(() => true, () => false)
    await expect.poll(ring, { timeout: 20_000 }).toBe(true)
    await expect.poll(() => heard.has(99), { timeout: 20_000 }).toBe(true)
    await last.close(100)
  } finally {
    isOver = true
    await killing
    await queue.close()
    await database.drop()
  }
}, 90_000)

it('a subscription closed at any moment of its start leaves no connection behind', async () => {
  const database = await freshDatabase()
  const ledgerId = randomUUID()
  try {
    for (let afterMs = 0; afterMs < 60; afterMs += 3) {
      const queue = connectQueue({ backend: 'postgres', url: database.url, ledgerId, onError: () => undefined })
      const subscription = await queue.subscribe({ kind: 'split' }, 1, () => Promise.resolve())
      await waitMs(afterMs)
      await subscription.close(100)
      await queue.close()
    }
    const left = () => ask(database.url, 'select application_name from pg_stat_activity where starts_with(application_name, $1)', [nameQueues(ledgerId).start])
    await expect.poll(left, { timeout: 5_000 }).toEqual([])
  } finally {
    await database.drop()
  }
})
