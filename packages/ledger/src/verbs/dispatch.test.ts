import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, finishOne, itemNow, openStage, runOf, uniqueName, type Stage } from '../stage.testsuite.ts'
import { forgetDispatch, listOpenRuns, listUndelivered, takeDueItems } from './dispatch.ts'
import { beat, holdSweeper, leaveSweeper, listNeighbours, lookAtRuns, pinsText, removeSilentWorkers, removeWorker, type WorkerRow } from './fleet.ts'
import { blockItem } from './items.ts'
import { pauseRun } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const naiveTake = `with n as (select count(*) as taken from pawl.items where run_id = $1 and status = 'pending' and dispatched_at is not null),
  due as (select i.seq from pawl.items i, n where i.run_id = $1 and i.status = 'pending' and i.dispatched_at is null order by i.seq limit greatest(0, 50 - (select taken from n)) for update of i skip locked)
  update pawl.items i set dispatched_at = clock_timestamp() from due where i.run_id = $1 and i.seq = due.seq`

test('finishing workers and the sweeper together never put out more than the window (hole 27)', async () => {
  const naive = await runOf(stage, 200)
  const first = stage.session()
  await first.query('begin')
  await first.query(naiveTake, [naive])
  await stage.rows(naiveTake, [naive])
  await first.query('commit')
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1 and dispatched_at is not null', [naive])).toBe(100)

  const runId = await runOf(stage, 200, { policy: { maxConcurrency: 50 } })
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select * from pawl.take_due_items($1, 1000)', [runId])
  const others = Array.from({ length: 4 }, () => {
    const name = uniqueName()
    return { name, taking: takeDueItems(stage.another({ name }), runId) }
  })
  await Promise.all(others.map(({ name }) => stage.waits(name)))
  await holding.query('commit')
  for (const { taking } of others) expect(await taking).toEqual({ taken: [], live: true, more: true })
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1 and dispatched_at is not null', [runId])).toBe(50)
})

test('items that wait for a person or for a time do not fill the window (hole 27)', async () => {
  const runId = await runOf(stage, 4, { policy: { maxConcurrency: 2 } })
  expect((await takeDueItems(stage.ledger, runId)).taken.map((item) => item.seq)).toEqual([1, 2])
  const blocked = await claim(stage, runId, 1)
  expect((await takeDueItems(stage.ledger, runId)).taken).toEqual([])
  await blockItem(stage.ledger, blocked, 'diverged', {})
  await finishOne(stage, await claim(stage, runId, 2), 'pending', { delayMs: 3_600_000 })
  expect((await takeDueItems(stage.ledger, runId)).taken.map((item) => item.seq)).toEqual([3, 4])
})

test('whatever is rung again has a new generation, and what was tried before goes first (hole 14)', async () => {
  const runId = await runOf(stage, 3)
  expect((await takeDueItems(stage.ledger, runId, 1)).taken).toMatchObject([{ seq: 1, generation: 1, again: false, agent: 'mailer', version: '1', kind: 'work', key: 'item-1' }])
  expect((await takeDueItems(stage.ledger, runId, 2)).taken).toMatchObject([{ seq: 2, generation: 1 }])
  await finishOne(stage, await claim(stage, runId, 2), 'pending')
  expect((await takeDueItems(stage.ledger, runId, 2)).taken).toMatchObject([{ seq: 2, generation: 2, again: true }])
  // The 30 s rule: asked for, then forgotten only at the generation that was looked at.
  await stage.rows(`update pawl.items set dispatched_at = clock_timestamp() - interval '1 minute' where run_id = $1 and dispatched_at is not null`, [runId])
  const undelivered = (await listUndelivered(stage.ledger)).filter((item) => item.runId === runId)
  expect(undelivered.map(({ seq, generation }) => [seq, generation])).toEqual([[1, 1], [2, 2]])
  await forgetDispatch(stage.ledger, [{ runId, seq: 1, generation: 0 }, { runId, seq: 2, generation: 2 }])
  expect((await itemNow(stage, { runId, seq: 1 })).dispatched_at).not.toBeNull()
  expect((await takeDueItems(stage.ledger, runId)).taken.map(({ seq, generation }) => [seq, generation])).toEqual([[2, 3], [3, 1]])
  // The queue's store was wiped: everything that waits is rung for again.
  await forgetDispatch(stage.ledger, null)
  expect((await takeDueItems(stage.ledger, runId)).taken.map(({ seq, generation }) => [seq, generation])).toEqual([[2, 4], [1, 2], [3, 2]])
})

test('a dispatch that meets an item being claimed leaves it out and does not wait', async () => {
  const runId = await runOf(stage, 2)
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select 1 from pawl.items where run_id = $1 and seq = 1 for update', [runId])
  expect((await takeDueItems(stage.ledger, runId)).taken.map((item) => item.seq)).toEqual([2])
  await holding.query('rollback')
})

test('a run with nothing live says so, and only open runs are looked at', async () => {
  const runId = await runOf(stage, 1)
  expect(await listOpenRuns(stage.ledger)).toContain(runId)
  await finishOne(stage, await claim(stage, runId, 1))
  expect(await takeDueItems(stage.ledger, runId)).toEqual({ taken: [], live: false, more: false })
})

test('one sweeper at a time; its lease is renewed by a completed cycle only, and one too far away counts as ended (holes 30, 31)', async () => {
  const [one, two] = [newId(), newId()]
  expect(await holdSweeper(stage.ledger, one, 10_000, false)).toBe(true)
  expect(await holdSweeper(stage.ledger, two, 10_000, false)).toBe(false)
  expect(await holdSweeper(stage.ledger, two, 10_000, true)).toBe(false)
  expect(await holdSweeper(stage.ledger, one, 10_000, true)).toBe(true)
  await stage.rows(`update pawl.sweeper set lease_until = clock_timestamp() - interval '1 ms'`)
  expect(await holdSweeper(stage.ledger, two, 10_000, false)).toBe(true)
  expect(await holdSweeper(stage.ledger, one, 10_000, true)).toBe(false)
  await stage.rows(`update pawl.sweeper set lease_until = clock_timestamp() + interval '1 hour'`)
  expect(await holdSweeper(stage.ledger, one, 10_000, false)).toBe(true)
  await leaveSweeper(stage.ledger, two)
  expect(await holdSweeper(stage.ledger, two, 10_000, false)).toBe(false)
  await leaveSweeper(stage.ledger, one)
  expect(await holdSweeper(stage.ledger, two, 10_000, false)).toBe(true)
})

test('workers register what proves them dead or alive; the silent ones go', async () => {
  const worker = (host: string): WorkerRow => ({ id: newId(), name: 'w', host, bootId: 'b', pidNamespace: 'n', pid: 7, pidStartedAt: '123' })
  const [self, neighbour, elsewhere] = [worker('h'), worker('h'), worker('other')]
  for (const one of [self, neighbour, elsewhere, self]) await beat(stage.ledger, one, ['mailer@1'])
  expect(await listNeighbours(stage.ledger, self)).toEqual([neighbour])
  expect(await stage.value(`select jsonb_typeof(serves) from pawl.workers where id = $1`, [self.id])).toBe('array')
  await stage.rows(`update pawl.workers set heartbeat_at = clock_timestamp() - interval '2 minutes' where id = $1`, [neighbour.id])
  await removeSilentWorkers(stage.ledger)
  expect(await listNeighbours(stage.ledger, self)).toEqual([])
  await removeWorker(stage.ledger, self.id)
  expect(await stage.value('select count(*)::int from pawl.workers')).toBe(1)
})

test('paused runs are told from running ones', async () => {
  const [running, paused] = [await runOf(stage, 1), await runOf(stage, 1)]
  await pauseRun(stage.ledger, paused, 'ann')
  const pins = pinsText({ agent_version: '1', model_version: null, prompt_version: null })
  expect((await lookAtRuns(stage.ledger, [running, paused])).toSorted((a, b) => Number(a.paused) - Number(b.paused))).toEqual([{ id: running, paused: false, pins }, { id: paused, paused: true, pins }])
  expect(await lookAtRuns(stage.ledger, [])).toEqual([])
})

test('doorbells that nobody answers do not stand before a lost one: every look sees others', async () => {
  const runId = await runOf(stage, 3)
  await takeDueItems(stage.ledger, runId)
  await stage.rows(`update pawl.items set dispatched_at = clock_timestamp() - interval '1 minute' where run_id = $1`, [runId])
  const seen = new Set<number>()
  for (let n = 0; n < 500 && seen.size < 3; n++) for (const item of await listUndelivered(stage.ledger, 30_000, 1)) if (item.runId === runId) seen.add(item.seq)
  expect(seen).toEqual(new Set([1, 2, 3]))
})
