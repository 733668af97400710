import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actionNow, claim, committed, endLease, finishOne, flushOne, itemNow, openStage, runOf, started, completionOf, type Stage } from '../stage.testsuite.ts'
import { clearLedger } from '../identity.ts'
import { readGap } from '../reads/read-gap.ts'
import { claimItems } from './claim-items.ts'
import { takeDueItems } from './dispatch.ts'
import { freeLeases } from './items.ts'
import { pauseRun, resumeRun, startCompensation } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const by = (given: Partial<{ workerId: string; nonce: string; leaseMs: number; alone: boolean }> = {}) => ({ workerId: newId(), nonce: newId(), leaseMs: 15_000, alone: false, ...given })
const verdictOf = async (runId: string, seq: number, generation: number | null = null, given = {}): Promise<string | undefined> =>
  (await claimItems(stage.ledger, [{ runId, seq, generation }], by(given)))[0]?.verdict

test('a claim mints the epoch, counts the attempt, takes the lease and brings item, run, journal, records and timeline', async () => {
  const runId = await runOf(stage, 1, { input: '{"task":"x"}', policy: { maxConcurrency: 3 } })
  const first = await claim(stage, runId, 1)
  expect(first.answer).toMatchObject({ verdict: 'claimed', journal: null, records: null, item: { epoch: 1, attempts: 1, status: 'in_progress', key: 'item-1' }, run: { input: '{"task":"x"}', policy: { maxConcurrency: 3 } } })
  expect(first.answer.history?.timeline).toBe(await stage.value('select pawl.timeline_now()'))
  await flushOne(stage.ledger, first, { records: [{ name: 'plan', value: '"p"' }] })
  await committed(stage, first, 'k1')
  await endLease(stage, first)
  const second = await claim(stage, runId, 1)
  expect(second.epoch).toBe(2)
  expect(second.journal.map((a) => [a.key, a.status, a.result])).toEqual([['k1', 'committed', '"ok"']])
  expect(second.answer.records?.map((r) => [r.name, r.value])).toEqual([['plan', '"p"']])
  expect(second.answer.records![0]!.order_no).toBeLessThan(second.journal[0]!.order_no)
})

test('every reason not to claim has its own verdict and leaves the item as it was', async () => {
  const runId = await runOf(stage, 4)
  expect(await verdictOf(newId(), 1)).toBe('missing')
  const held = await claim(stage, runId, 1)
  expect(await verdictOf(runId, 1)).toBe('leased')
  await stage.rows('update pawl.items set generation = 3 where run_id = $1 and seq = 2', [runId])
  expect(await verdictOf(runId, 2, 2)).toBe('stale')
  expect(await verdictOf(runId, 2, 3)).toBe('claimed')
  await finishOne(stage, held)
  expect(await verdictOf(runId, 1)).toBe('closed')
  await stage.rows(`update pawl.items set available_at = clock_timestamp() + interval '1 hour', dispatched_at = clock_timestamp() where run_id = $1 and seq = 3`, [runId])
  expect(await verdictOf(runId, 3)).toBe('early')
  expect((await itemNow(stage, { runId, seq: 3 })).dispatched_at).toBeNull()
  await pauseRun(stage.ledger, runId, 'ann')
  expect(await verdictOf(runId, 4)).toBe('paused')
  expect(await itemNow(stage, { runId, seq: 4 })).toMatchObject({ status: 'pending', epoch: 0, attempts: 0 })
  await resumeRun(stage.ledger, runId, 'ann')
  expect(await verdictOf(runId, 4)).toBe('claimed')
})

test('a lost answer to a claim: the same nonce is the same claim, another nonce is not', async () => {
  const runId = await runOf(stage, 1)
  const nonce = newId()
  const first = await claim(stage, runId, 1, { nonce })
  const again = await claim(stage, runId, 1, { nonce })
  expect(again.epoch).toBe(first.epoch)
  expect(await itemNow(stage, first)).toMatchObject({ attempts: 1, barren_attempts: 1, epoch: 1 })
  expect(await verdictOf(runId, 1)).toBe('leased')
})

test('a lease further away than twice its length counts as ended: the clock stepped back (hole 31)', async () => {
  const runId = await runOf(stage, 2)
  for (const seq of [1, 2]) await claim(stage, runId, seq)
  await stage.rows(`update pawl.items set lease_until = clock_timestamp() + interval '1 hour' where run_id = $1 and seq = 1`, [runId])
  const naive = await stage.rows('select seq from pawl.items where run_id = $1 and lease_until <= clock_timestamp()', [runId])
  expect(naive).toEqual([])
  expect(await freeLeases(stage.ledger, null)).toEqual([{ runId, freed: 1 }])
  expect(await verdictOf(runId, 1)).toBe('claimed')
  await stage.rows(`update pawl.items set lease_until = clock_timestamp() + interval '1 hour' where run_id = $1 and seq = 2`, [runId])
  expect(await verdictOf(runId, 2)).toBe('claimed')
})

test('from the third barren attempt on an item runs alone, the sixth is refused as a crash loop; progress resets the count', async () => {
  const runId = await runOf(stage, 1)
  const item = { runId, seq: 1 }
  for (let n = 1; n <= 2; n++) {
    await claim(stage, runId, 1)
    await endLease(stage, item)
  }
  expect(await verdictOf(runId, 1)).toBe('suspect')
  expect((await itemNow(stage, item)).attempts).toBe(2)
  const alone = await claim(stage, runId, 1, { alone: true })
  await committed(stage, alone, 'progress')
  expect((await itemNow(stage, item)).barren_attempts).toBe(0)
  for (let n = 1; n <= 5; n++) {
    await endLease(stage, item)
    await claim(stage, runId, 1, { alone: true })
  }
  await endLease(stage, item)
  expect(await verdictOf(runId, 1, null, { alone: true })).toBe('blocked')
  expect(await itemNow(stage, item)).toMatchObject({ status: 'blocked', blocked_reason: 'crash_loop' })
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'item.blocked'`, [runId])).toBe(1)
})

test('a batch claim that waited for one item brings the journal of another as it is now, not as it was (hole 3)', async () => {
  const runId = await runOf(stage, 2)
  const x = { runId, seq: 1 }
  const holdX = stage.session()
  await holdX.query('begin')
  await holdX.query('select 1 from pawl.items where run_id = $1 and seq = 1 for update', [runId])
  const naive = stage.session('naive-claim')
  const late = stage.another({ name: 'batch-claim' })
  // The naive form: lock, mint and read the journal in one statement.
  const naiveAnswer = naive.query<{ seq: number; journal: unknown }>(`
    with l as (select run_id, seq from pawl.items where run_id = $1 and status in ('pending', 'in_progress') order by seq for update)
    select l.seq, (select json_agg(a.key) from pawl.actions a where a.run_id = l.run_id and a.item_seq = l.seq) as journal from l`, [runId])
  await stage.waits('naive-claim')
  const answer = claimItems(late, [{ runId, seq: 1, generation: null }, { runId, seq: 2, generation: null }], by())
  await stage.waits('batch-claim')
  // Meanwhile Y is claimed elsewhere, refunds, commits and is put back.
  const y = await claim(stage, runId, 2)
  await committed(stage, y, 'refund')
  await finishOne(stage, y, 'pending')
  await holdX.query('rollback')
  expect((await naiveAnswer).find((row) => row.seq === 2)?.journal).toBeNull() // stale: the refund would be sent again
  const got = (await answer).find((row) => row.seq === 2)
  expect(got?.item?.epoch).toBe(2)
  expect(got?.journal?.map((a) => [a.key, a.status])).toEqual([['refund', 'committed']])
  expect((await itemNow(stage, x)).epoch).toBe(1)
})

test('a claim that waited behind the holder’s last flush sees its completion, not a doubt (hole 3)', async () => {
  const runId = await runOf(stage, 1)
  const holder = await claim(stage, runId, 1)
  const intent = await started(stage, holder, 'k')
  await endLease(stage, holder)
  const slow = stage.session()
  await slow.query('begin')
  await slow.query('select 1 from pawl.items where run_id = $1 and seq = 1 for update', [runId])
  const other = stage.another({ name: 'next-claim' })
  const taking = claimItems(other, [{ runId, seq: 1, generation: null }], by())
  await stage.waits('next-claim')
  await slow.query(`update pawl.actions set status = 'committed' where run_id = $1 and token = $2`, [runId, intent.token])
  await slow.query(`update pawl.items set status = 'pending', lease_until = null where run_id = $1 and seq = 1`, [runId])
  await slow.query('commit')
  expect((await taking)[0]?.journal?.[0]?.status).toBe('committed')
})

test('a claim cannot slip past startCompensation (hole 2)', async () => {
  const naive = await raceWithCompensation(`update pawl.items i set status = 'in_progress', epoch = i.epoch + 1 from pawl.runs r
    where i.run_id = $1 and i.seq = 1 and r.id = i.run_id and r.status = 'running' and i.status in ('pending', 'in_progress') returning i.seq`, async (s, runId) => {
    // Bumping epochs is what the naive compensation does, leaving the items where they are.
    await s.query(`update pawl.runs set status = 'compensating' where id = $1`, [runId])
    await s.query('update pawl.items set epoch = epoch + 1 where run_id = $1', [runId])
  })
  expect(naive).toHaveLength(1) // forward work in a compensating run
  const runId = await runOf(stage, 1)
  const compensating = stage.session()
  await compensating.query('begin')
  await compensating.query('select pawl.start_compensation($1, $2, null)', [runId, 'ann'])
  const other = stage.another({ name: 'slipping-claim' })
  const taking = claimItems(other, [{ runId, seq: 1, generation: null }], by())
  await stage.waits('slipping-claim')
  await compensating.query('commit')
  expect((await taking)[0]?.verdict).toBe('closed')
  expect(await itemNow(stage, { runId, seq: 1 })).toMatchObject({ status: 'cancelled', epoch: 1 })
  expect(await startCompensation(stage.ledger, runId, 'ann', null)).toEqual({ outcome: 'wrong_state', status: 'compensating' })
})

async function raceWithCompensation(claimText: string, compensate: (s: ReturnType<Stage['session']>, runId: string) => Promise<void>): Promise<unknown[]> {
  const runId = await runOf(stage, 1)
  const compensating = stage.session()
  await compensating.query('begin')
  await compensate(compensating, runId)
  const claimer = stage.session('naive-slip')
  const taking = claimer.query(claimText, [runId])
  await stage.waits('naive-slip')
  await compensating.query('commit')
  return await taking
}

test('leases of a worker proved dead are freed by making the items pending, so its last flush cannot renew them (hole 38)', async () => {
  const runId = await runOf(stage, 2)
  const workerId = newId()
  const orphan = await claim(stage, runId, 1, { workerId })
  const other = await claim(stage, runId, 2)
  const intent = await started(stage, orphan, 'k')
  // The naive form only shortens the lease: the orphan's last flush takes it back.
  await endLease(stage, orphan)
  expect((await flushOne(stage.ledger, orphan, {})).written.size).toBe(1)
  expect((await itemNow(stage, orphan)).lease_until!.getTime()).toBeGreaterThan(Date.now())
  expect(await freeLeases(stage.ledger, workerId)).toEqual([{ runId, freed: 1 }])
  const late = await flushOne(stage.ledger, orphan, { completions: [completionOf(intent)] })
  expect([late.locked.size, late.written.size]).toEqual([0, 0])
  expect(await itemNow(stage, orphan)).toMatchObject({ status: 'pending', epoch: 1 })
  expect((await actionNow(stage, runId, 'k')).status).toBe('started')
  expect((await itemNow(stage, other)).status).toBe('in_progress')
})

test('ended leases are freed past a row that is being written, without waiting for it', async () => {
  const runId = await runOf(stage, 2)
  for (const seq of [1, 2]) await endLease(stage, await claim(stage, runId, seq))
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select 1 from pawl.items where run_id = $1 and seq = 1 for update', [runId])
  expect((await freeLeases(stage.ledger, null)).filter((row) => row.runId === runId)).toEqual([{ runId, freed: 1 }])
  await holding.query('rollback')
})

test('a doorbell ahead of its item is a dispatch the ledger has forgotten: nothing is claimed or rung for any more until a person clears it', async () => {
  const [runId, other] = [await runOf(stage, 1), await runOf(stage, 1)]
  expect((await takeDueItems(stage.ledger, runId, 10)).taken).toMatchObject([{ generation: 1 }])
  expect(await verdictOf(runId, 1, 2)).toBe('ahead')
  expect(await verdictOf(other, 1, null)).toBe('untrusted')
  expect((await takeDueItems(stage.ledger, other, 10)).taken).toEqual([])
  expect(await readGap(stage.ledger)).toMatchObject({ why: expect.stringContaining('is generation 2, the ledger knows 1') as string })
  await clearLedger(stage.ledger, 'ann', (await readGap(stage.ledger)).digest)
  expect(await verdictOf(runId, 1, 1)).toBe('claimed')
})
