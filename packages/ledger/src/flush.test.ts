import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { flush, placeOf } from './flush.ts'
import {
  actionNow, claim, committed, completionOf, endLease, flushOne, intentOf, itemNow, openStage, runOf, started, turnOf, wantFrom, type Claimed, type Stage,
} from './stage.testsuite.ts'
import { commitTransactional } from './verbs/commit-transactional.ts'
import { startCompensation } from './verbs/runs.ts'
import { rearmAction, settleAction } from './verbs/settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const held = async (n = 1): Promise<Claimed> => await claim(stage, await runOf(stage, n), 1)
const took = (answer: { locked: ReadonlySet<string>; written: ReadonlySet<string> }) => [answer.locked.size, answer.written.size]

/** A promise somebody else resolves. */
function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => { resolve = done })
  return { promise, resolve }
}

test('completion n, intent n+1, a record and the lease travel in one statement', async () => {
  const by = await held()
  const first = await started(stage, by, 'one')
  await stage.rows(`update pawl.items set lease_until = clock_timestamp() + interval '1 s' where run_id = $1`, [by.runId])
  const second = intentOf('two', { undo: '{"u":1}', keyWindowMs: 60_000, effect: 'idempotent' })
  const answer = await flushOne(stage.ledger, by, { completions: [completionOf(first, { result: '"r1"', undo: '{"u":2}' })], intents: [second], records: [{ name: 'note', value: '1' }] })
  expect([...answer.completed.values()]).toEqual(['committed'])
  expect(await actionNow(stage, by.runId, 'one')).toMatchObject({ status: 'committed', result: '"r1"', undo: '{"u":2}', settled_by: 'worker' })
  const row = await actionNow(stage, by.runId, 'two')
  expect(row).toMatchObject({ status: 'started', epoch: by.epoch, attempt: 1, sends: 1, refused: 0, undo: '{"u":1}' })
  expect(Date.parse(row.key_expires_at!)).toBeGreaterThan(Date.now() + 50_000)
  expect(answer.intended.get(second.token)).toEqual({ id: row.id, orderNo: row.order_no })
  expect((await itemNow(stage, by)).lease_until!.getTime()).toBeGreaterThan(Date.now() + 10_000)
  expect(answer.history).toEqual({ timeline: expect.stringMatching(/^[0-9A-F]{8}$/) as string, since: expect.stringMatching(/^\d+\/\d+$/) as string, isKnown: true, clearedAtMs: 0, hasGoneBack: false })
})

test('a stale epoch cannot record an intent, a completion, a record, a renewal or a finish', async () => {
  const zombie = await held()
  const intent = await started(stage, zombie, 'k')
  await endLease(stage, zombie)
  const by = await claim(stage, zombie.runId, 1)
  const answer = await flushOne(stage.ledger, zombie, { completions: [completionOf(intent)], intents: [intentOf('late')], records: [{ name: 'n', value: '1' }], finish: { status: 'pending' } })
  expect(took(answer)).toEqual([0, 0])
  expect(await stage.value('select count(*)::int from pawl.records where run_id = $1', [by.runId])).toBe(0)
  expect((await actionNow(stage, by.runId, 'k')).status).toBe('started')
  expect(await itemNow(stage, by)).toMatchObject({ status: 'in_progress', epoch: 2 })
})

test('an intent and a finish in one statement: the item ends and nothing may be sent (hole 11a)', async () => {
  const by = await held()
  const answer = await flushOne(stage.ledger, by, { intents: [intentOf('k')], finish: { status: 'done' } })
  expect(answer.intended.size).toBe(0)
  expect(await stage.value(`select count(*)::int from pawl.actions where run_id = $1`, [by.runId])).toBe(0)
})

test('a finish is refused while a completion it rides on was refused, or anything of the item is open (hole 11b)', async () => {
  // The naive finish asks nothing.
  const naive = await held()
  await started(stage, naive, 'k')
  await stage.rows(`with c as (update pawl.actions set status = 'committed' where run_id = $1 and token = $2 and status = 'started' returning 1)
    update pawl.items set status = 'done' where run_id = $1 and seq = 1 and epoch = 1`, [naive.runId, newId()])
  expect([(await itemNow(stage, naive)).status, (await actionNow(stage, naive.runId, 'k')).status]).toEqual(['done', 'started'])

  const by = await held()
  const intent = await started(stage, by, 'k')
  for (const status of ['done', 'failed'] as const) {
    expect(took(await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token: newId() })], finish: { status } }))).toEqual([1, 0])
    expect(took(await flushOne(stage.ledger, by, { finish: { status } }))).toEqual([1, 0])
  }
  await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'worker' })
  expect(took(await flushOne(stage.ledger, by, { finish: { status: 'done' } }))).toEqual([1, 0])
  expect((await itemNow(stage, by)).status).toBe('in_progress')
  await settleAction(stage.ledger, by, 'k', { verdict: 'applied', by: 'verify' })
  expect(took(await flushOne(stage.ledger, by, { finish: { status: 'done', result: '"r"', resultRef: 'ref' } }))).toEqual([1, 1])
  expect(await itemNow(stage, by)).toMatchObject({ status: 'done', result: '"r"', lease_until: null })
  expect((await actionNow(stage, by.runId, 'k')).token).toBe(intent.token)
})

test('a send proved not applied while an earlier one is not keeps the item open in the same statement', async () => {
  const by = await held()
  await started(stage, by, 'k', { effect: 'idempotent' })
  const again = await rearmAction(stage.ledger, by, 'k', newId(), '1', 0)
  const answer = await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token: again.action!.token! }, { outcome: 'refused', result: null })], finish: { status: 'failed' } })
  expect(took(answer)).toEqual([1, 0])
  expect([...answer.completed.values()]).toEqual(['started'])
})

test('a finish in the statement of its last completion is done at once', async () => {
  const by = await held()
  const intent = await started(stage, by, 'k')
  expect(took(await flushOne(stage.ledger, by, { completions: [completionOf(intent)], finish: { status: 'done', result: '1' } }))).toEqual([1, 1])
  expect([(await itemNow(stage, by)).status, (await actionNow(stage, by.runId, 'k')).status]).toEqual(['done', 'committed'])
})

test('an intent whose completion was refused is not written (hole 11c)', async () => {
  const by = await held()
  await started(stage, by, 'read')
  const answer = await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'read', token: newId() })], intents: [intentOf('pay')], records: [{ name: 'n', value: '1' }] })
  expect([took(answer), answer.completed.size, answer.intended.size]).toEqual([[1, 0], 0, 0])
  expect(await stage.value('select count(*)::int from pawl.records where run_id = $1', [by.runId])).toBe(0)
})

test('two epochs of one item in one statement: the zombie’s rows do not ride on the new epoch (hole 11e)', async () => {
  const zombie = await held()
  const old = await started(stage, zombie, 'old')
  await endLease(stage, zombie)
  const by = await claim(stage, zombie.runId, 1)
  const [late, fresh] = [intentOf('late'), intentOf('fresh')]
  const answer = await flush(stage.ledger, [
    wantFrom(zombie, { completions: [completionOf(old)], intents: [late], finish: { status: 'done' } }), wantFrom(by, { intents: [fresh] })], 15_000)
  expect([...answer.written]).toEqual([placeOf(by, by.epoch)])
  expect([...answer.intended.keys()]).toEqual([fresh.token])
  expect((await actionNow(stage, by.runId, 'old')).status).toBe('started')
})

test('a held row stops its own item only: the others of the batch are written (hole 15)', async () => {
  const runId = await runOf(stage, 50)
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => claim(stage, runId, i + 1)))
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select 1 from pawl.items where run_id = $1 and seq = 7 for update', [runId])
  const naive = stage.session('naive-renewal')
  const renewing = naive.query(`update pawl.items set lease_until = clock_timestamp() + interval '15 s' where run_id = $1 and status = 'in_progress'`, [runId])
  await stage.waits('naive-renewal') // one held row stalls all fifty
  const answer = await flush(stage.ledger, all.slice(7).map((by) => wantFrom(by, {})).concat(all.slice(0, 7).map((by) => wantFrom(by, {}))), 15_000)
  expect(answer.written.has(placeOf(all[6]!, 1))).toBe(false)
  await holding.query('rollback')
  await renewing
})

test('a transactional tool’s slow SQL holds up no renewal; its fence and completion come last and together (hole 15)', async () => {
  const runId = await runOf(stage, 2)
  const by = await claim(stage, runId, 1)
  const intent = await started(stage, by, 'move', { effect: 'transactional' })
  await stage.rows('create table if not exists public.stock (n int)')
  const inSql = signal()
  const goOn = signal()
  const working = commitTransactional(stage.ledger, by, { key: 'move', token: intent.token, timeoutMs: 10_000 }, async (tx) => {
    await tx.query('insert into public.stock values ($1)', [7])
    inSql.resolve()
    await goOn.promise
    return { result: '"moved"', undo: null }
  })
  await inSql.promise
  expect(took(await flushOne(stage.ledger, by, {}))).toEqual([1, 1]) // renewed while the user's SQL is open
  expect(await stage.value('select count(*)::int from public.stock')).toBe(0)
  goOn.resolve()
  expect(await working).toEqual({ result: '"moved"', undo: null })
  expect(await stage.value('select count(*)::int from public.stock')).toBe(1)
  expect((await actionNow(stage, runId, 'move')).status).toBe('committed')
})

test('a transactional call whose item was taken over commits nothing of its own', async () => {
  const by = await held()
  const intent = await started(stage, by, 'move', { effect: 'transactional' })
  await stage.rows('create table if not exists public.moved (n int)')
  await expect(commitTransactional(stage.ledger, by, { key: 'move', token: intent.token, timeoutMs: 10_000 }, async (tx) => {
    await tx.query('insert into public.moved values (1)')
    await endLease(stage, by)
    await claim(stage, by.runId, 1)
    return { result: '1', undo: null }
  })).rejects.toMatchObject({ code: 'FENCED', next: 'drop' })
  expect(await stage.value('select count(*)::int from public.moved')).toBe(0)
  expect((await actionNow(stage, by.runId, 'move')).status).toBe('started')
})

test('two statements that insert shared keys in opposite order do not deadlock (hole 17)', async () => {
  const runId = await runOf(stage, 4)
  const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map((seq) => claim(stage, runId, seq))) as [Claimed, Claimed, Claimed, Claimed]
  // Naively, in the order they came: each holds what the other waits for.
  await stage.rows('create table if not exists public.naive_keys (k text primary key)')
  const [one, two] = [stage.session('naive-1'), stage.session('naive-2')]
  for (const s of [one, two]) await s.query('begin')
  await one.query(`insert into public.naive_keys values ('x') on conflict do nothing`)
  await two.query(`insert into public.naive_keys values ('y') on conflict do nothing`)
  const dead = Promise.allSettled([one.query(`insert into public.naive_keys values ('y') on conflict do nothing`), two.query(`insert into public.naive_keys values ('x') on conflict do nothing`)])
  expect((await dead).filter((end) => end.status === 'rejected' && (end.reason as { code: string }).code === '40P01')).toHaveLength(1)
  // Ours, with the first key held by a third party so that both are in the middle of it.
  const holding = stage.session()
  await holding.query('begin')
  await holding.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms) values ($1, 99, 'a', 't', '1', 'read', 'started', 1, '1', 'd', 1, 1)`, [runId])
  const flushes = [[a, b], [c, d]].map(([x, y], i) => {
    const keys = i === 0 ? ['a', 'z'] : ['z', 'a']
    return flush(stage.another({ name: `keys-${i}` }), [wantFrom(x!, { intents: [intentOf(keys[0]!)] }), wantFrom(y!, { intents: [intentOf(keys[1]!)] })], 15_000)
  })
  await Promise.all([stage.waits('keys-0'), stage.waits('keys-1')])
  await holding.query('rollback')
  const answers = await Promise.all(flushes)
  expect(answers.map((answer) => answer.intended.size).reduce((x, y) => x + y)).toBe(2)
})

test('a flush and startCompensation take their locks in one order: none is a deadlock’s victim (hole 17)', async () => {
  const runId = await runOf(stage, 30)
  const all = await Promise.all(Array.from({ length: 30 }, (_, i) => claim(stage, runId, i + 1)))
  const ends = await Promise.allSettled([
    ...Array.from({ length: 20 }, (_, n) => flush(stage.ledger, all.toReversed().map((by) => wantFrom(by, { intents: [intentOf(`k${by.seq}-${n}`)] })), 15_000)),
    startCompensation(stage.ledger, runId, 'ann', null),
  ])
  expect(ends.filter((end) => end.status === 'rejected')).toEqual([])
  expect(await stage.value(`select count(*)::int from pawl.items where run_id = $1 and status = 'in_progress'`, [runId])).toBe(0)
})

test('a flush touches no run row: a locked run does not hold it up (hole 18)', async () => {
  const by = await held()
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select 1 from pawl.runs where id = $1 for update', [by.runId])
  const naive = stage.session('naive-counter')
  const counting = naive.query('update pawl.runs set items_total = items_total where id = $1', [by.runId])
  await stage.waits('naive-counter')
  expect(took(await flushOne(stage.ledger, by, { intents: [intentOf('k')] }))).toEqual([1, 1])
  expect(took(await flushOne(stage.ledger, by, { finish: { status: 'pending' } }))).toEqual([1, 1])
  await holding.query('rollback')
  await counting
})

test('a fence whose snapshot is older than the claim is judged by the row as it is', async () => {
  const zombie = await held()
  const claimer = stage.session()
  await claimer.query('begin')
  await claimer.query(`update pawl.items set epoch = epoch + 1 where run_id = $1 and seq = 1`, [zombie.runId])
  // SKIP LOCKED leaves it while the claim is open, and the epoch refuses it afterwards.
  expect(took(await flushOne(stage.ledger, zombie, { intents: [intentOf('k')] }))).toEqual([0, 0])
  await claimer.query('commit')
  expect(took(await flushOne(stage.ledger, zombie, { intents: [intentOf('k')] }))).toEqual([0, 0])
})

test('an attempt’s failure counts once, and handing back spends neither failures nor crash budget', async () => {
  const by = await held()
  await flushOne(stage.ledger, by, { finish: { status: 'pending', delayMs: 60_000, error: '"e"', isFailure: true } })
  expect(await itemNow(stage, by)).toMatchObject({ status: 'pending', failures: 1, barren_attempts: 0, error: '"e"', dispatched_at: null })
  expect(await stage.value(`select available_at > clock_timestamp() + interval '50 s' from pawl.items where run_id = $1`, [by.runId])).toBe(true)
  await stage.rows('update pawl.items set available_at = clock_timestamp() where run_id = $1', [by.runId])
  const next = await claim(stage, by.runId, 1)
  await flushOne(stage.ledger, next, { finish: { status: 'pending' } })
  expect(await itemNow(stage, by)).toMatchObject({ status: 'pending', failures: 1, barren_attempts: 0, attempts: 2 })
})

test('a renewal is no progress: it leaves the crash budget as it is', async () => {
  const by = await held()
  await flushOne(stage.ledger, by, {})
  expect((await itemNow(stage, by)).barren_attempts).toBe(1)
  await flushOne(stage.ledger, by, { intents: [intentOf('k')] })
  expect((await itemNow(stage, by)).barren_attempts).toBe(1)
  const [refused] = await stage.rows<{ token: string }>(`select token from pawl.actions where run_id = $1`, [by.runId])
  await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token: refused?.token ?? '' }, { outcome: 'refused', result: null })] })
  expect((await itemNow(stage, by)).barren_attempts).toBe(1)
  await flushOne(stage.ledger, by, { records: [{ name: 'n', value: '1' }] })
  expect((await itemNow(stage, by)).barren_attempts).toBe(0)
})

test('an undo’s completion marks its write compensated in the same statement', async () => {
  const by = await held()
  await committed(stage, by, 'w', { undo: '{}' })
  await committed(stage, by, 'undo:w', { undoes: (await actionNow(stage, by.runId, 'w')).id })
  expect((await actionNow(stage, by.runId, 'w')).status).toBe('compensated')
})

const turnsOf = (runId: string) => stage.rows<{ n: number; decision: string; epoch: number }>('select n, decision, epoch from pawl.turns where run_id = $1 order by n', [runId])

test('a turn, the completion it rests on and its first intents are one write; what it spent is counted and the item is not barren', async () => {
  const by = await held()
  const before = await started(stage, by, 'one')
  const intents = [intentOf('two', { turn: 1 }), intentOf('three', { turn: 1 })]
  const answer = await flushOne(stage.ledger, by, { completions: [completionOf(before)], turns: [turnOf(1)], intents })
  expect([answer.turned.size, answer.completed.size, answer.intended.size]).toEqual([1, 1, 2])
  expect(await turnsOf(by.runId)).toEqual([{ n: 1, decision: '"turn 1"', epoch: by.epoch }])
  expect([(await actionNow(stage, by.runId, 'two')).turn, (await actionNow(stage, by.runId, 'one')).turn]).toEqual([1, null])
  expect(await itemNow(stage, by)).toMatchObject({ tokens_used: '15', cost_micros: '7', barren_attempts: 0 })
  await flushOne(stage.ledger, by, { turns: [turnOf(2)] })
  expect(await itemNow(stage, by)).toMatchObject({ tokens_used: '30', cost_micros: '14' })
  await endLease(stage, by)
  expect((await claim(stage, by.runId, 1)).answer.turns?.map((turn) => [turn.n, turn.decision])).toEqual([[1, '"turn 1"'], [2, '"turn 2"']])
})

test('a stale epoch cannot record a turn, and nothing is counted', async () => {
  const zombie = await held()
  await endLease(stage, zombie)
  const by = await claim(stage, zombie.runId, 1)
  expect(took(await flushOne(stage.ledger, zombie, { turns: [turnOf(1)], intents: [intentOf('k', { turn: 1 })] }))).toEqual([0, 0])
  expect(await turnsOf(by.runId)).toEqual([])
  expect(await itemNow(stage, by)).toMatchObject({ tokens_used: '0' })
})

test('a turn whose number is taken stops the intents, records and renewals that came with it: the row decides', async () => {
  const by = await held()
  await flushOne(stage.ledger, by, { turns: [turnOf(1)] })
  const answer = await flushOne(stage.ledger, by, { turns: [turnOf(1, { decision: '"another"', spentTokens: 1_000 })], intents: [intentOf('k', { turn: 1 })], records: [{ name: 'n', value: '1' }] })
  expect([took(answer), answer.turned.size, answer.intended.size]).toEqual([[1, 0], 0, 0])
  expect(await turnsOf(by.runId)).toEqual([{ n: 1, decision: '"turn 1"', epoch: by.epoch }])
  expect(await stage.value('select count(*)::int from pawl.actions where run_id = $1', [by.runId])).toBe(0)
  expect(await itemNow(stage, by)).toMatchObject({ tokens_used: '15' })
})

test('a turn that rests on a refused completion is not written', async () => {
  const by = await held()
  await started(stage, by, 'read')
  const answer = await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'read', token: newId() })], turns: [turnOf(1)], intents: [intentOf('pay', { turn: 1 })] })
  expect([took(answer), answer.turned.size, answer.intended.size]).toEqual([[1, 0], 0, 0])
  expect(await turnsOf(by.runId)).toEqual([])
})

test('a turn that another backend of the same holder writes between this statement’s snapshot and its lock lets no intent through on the old snapshot', async () => {
  const by = await held()
  const writing = stage.session()
  await writing.query('begin')
  await writing.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision) values ($1, 1, 1, 1, 'm', 'p', '"other"')`, [by.runId])
  const name = 'late-turn'
  const intent = intentOf('k', { turn: 1 })
  const flushing = flushOne(stage.another({ name }), by, { turns: [turnOf(1)], intents: [intent] })
  await stage.waits(name) // its snapshot has no turn; the insert waits for the other's
  await writing.query('commit')
  const answer = await flushing
  expect([answer.turned.size, answer.intended.size]).toEqual([0, 0])
  expect(await stage.value('select count(*)::int from pawl.actions where run_id = $1', [by.runId])).toBe(0)
})

test('a turn and a finish in one statement: the item ends and the turn is not written', async () => {
  const by = await held()
  const answer = await flushOne(stage.ledger, by, { turns: [turnOf(1)], finish: { status: 'done' } })
  expect(answer.turned.size).toBe(0)
})
