import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ledger } from '../connect.ts'
import { startCuttingProxy } from '../cutting-proxy.testsuite.ts'
import { actionNow, claim, committed, completionOf, endLease, finishOne, flushOne, itemNow, openStage, runOf, started, type Claimed, type Stage } from '../stage.testsuite.ts'
import { blockItem, releaseItem, wakeItems } from './items.ts'
import { nextToUndo } from './compensation.ts'
import { cancelRun, startCompensation } from './runs.ts'
import { addEvidence, addRefusal, answerDoubt, rearmAction, settleAction } from './settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

/** An item whose one call is in doubt, its holder still there. */
async function inDoubt(key = 'k', waitMs = 0): Promise<Claimed> {
  const runId = await runOf(stage, 2)
  const by = await claim(stage, runId, 1)
  await started(stage, by, key)
  await settleAction(stage.ledger, by, key, { verdict: 'in_doubt', by: 'worker', waitMs })
  return by
}

const answer = async (by: Claimed, said: 'happened' | 'did_not' | 'abandon', given: { attempt?: number; evidence?: number; result?: string } = {}) => {
  const action = await actionNow(stage, by.runId, 'k')
  return await answerDoubt(stage.ledger, by.runId, action.id, { attempt: given.attempt ?? action.attempt, evidence: given.evidence ?? action.evidence.length, answer: said, result: given.result ?? null, actor: 'ann' })
}

test('a settler records each verdict; a settled action is returned as it is, a stale epoch gets nothing', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  for (const key of ['yes', 'no', 'maybe']) await started(stage, by, key)
  expect(await settleAction(stage.ledger, by, 'yes', { verdict: 'applied', result: '7', undo: '{"u":1}', by: 'verify' })).toMatchObject({ status: 'committed', result: '7', undo: '{"u":1}', settled_by: 'verify' })
  expect(await settleAction(stage.ledger, by, 'no', { verdict: 'not_applied', by: 'verify' })).toMatchObject({ status: 'failed', refused: 1, sends: 1 })
  const doubt = await settleAction(stage.ledger, by, 'maybe', { verdict: 'in_doubt', by: 'worker', waitMs: 60_000 })
  expect(doubt?.status).toBe('in_doubt')
  expect(Date.parse(doubt!.answerable_at!)).toBeGreaterThan(Date.now() + 50_000)
  expect(await settleAction(stage.ledger, by, 'yes', { verdict: 'not_applied', by: 'verify' })).toMatchObject({ status: 'committed' })
  expect(await settleAction(stage.ledger, { ...by, epoch: 0 }, 'maybe', { verdict: 'applied', by: 'verify' })).toBeUndefined()
  expect((await actionNow(stage, runId, 'maybe')).status).toBe('in_doubt')
})

test('only a compensate or settle item may settle another item’s action', async () => {
  const runId = await runOf(stage, 2)
  const owner = await claim(stage, runId, 1)
  await started(stage, owner, 'k')
  const neighbour = await claim(stage, runId, 2)
  expect(await settleAction(stage.ledger, neighbour, 'k', { verdict: 'not_applied', by: 'verify' })).toBeUndefined()
  expect((await actionNow(stage, runId, 'k')).status).toBe('started')
})

test('a person’s answer is bound to the attempt and the evidence that was shown (hole 12)', async () => {
  const by = await inDoubt()
  expect((await answer(by, 'did_not')).outcome).toBe('answered')
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'failed', sends: 1, refused: 1, settled_by: 'person:ann' })
  // Sent again, in doubt again: the double click of the first page must not release the third send.
  expect((await rearmAction(stage.ledger, by, 'k', newId(), '1', 0)).outcome).toBe('sent')
  await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'worker' })
  const naive = await stage.rows(`select 1 from pawl.actions where run_id = $1 and key = 'k' and status = 'in_doubt'`, [by.runId])
  expect(naive).toHaveLength(1) // the naive fence, status alone, lets the old answer through
  expect((await answer(by, 'did_not', { attempt: 1 })).outcome).toBe('changed')
  expect((await answer(by, 'did_not', { attempt: 2, evidence: 3 })).outcome).toBe('changed')
  expect((await answer(by, 'happened', { attempt: 2, result: '"r"' })).outcome).toBe('answered')
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'committed', result: '"r"' })
  expect((await answerDoubt(stage.ledger, by.runId, 999_999, { attempt: 1, evidence: 0, answer: 'did_not', actor: 'ann' })).outcome).toBe('missing')
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'action.answered' and actor = 'ann'`, [by.runId])).toBe(2)
})

test('“it did not” is refused until no late send can follow; “it happened” is not', async () => {
  const by = await inDoubt('k', 60_000)
  expect((await answer(by, 'did_not')).outcome).toBe('too_early')
  expect((await answer(by, 'abandon')).outcome).toBe('too_early')
  expect((await answer(by, 'happened')).outcome).toBe('answered')
})

test('proof that is being written while a person says “it did not” wins, in either order (hole 12)', async () => {
  const naive = await inDoubt()
  const proofs = stage.session()
  await proofs.query('create table if not exists public.naive_evidence (run_id uuid, key text)')
  await proofs.query('begin')
  await proofs.query(`insert into public.naive_evidence values ($1, 'k')`, [naive.runId])
  const released = await stage.rows(`update pawl.actions a set status = 'failed' where run_id = $1 and key = 'k' and status = 'in_doubt'
    and not exists (select 1 from public.naive_evidence e where e.run_id = a.run_id and e.key = a.key) returning id`, [naive.runId])
  await proofs.query('commit')
  expect(released).toHaveLength(1) // sent again with the proof in the ledger

  const by = await inDoubt()
  const zombie = stage.session()
  await zombie.query('begin')
  await zombie.query(`select pawl.add_evidence($1, 'k', '"seen"', '"receipt"', null)`, [by.runId])
  const person = stage.session('person')
  const action = await actionNow(stage, by.runId, 'k')
  const said = person.query<{ outcome: string }>(`select outcome from pawl.answer_doubt($1, $2, 1, 0, 'did_not', null, null, 'ann', null)`, [by.runId, action.id])
  await stage.waits('person')
  await zombie.query('commit')
  expect(await said).toEqual([{ outcome: 'changed' }])
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'committed', result: '"receipt"', settled_by: 'evidence' })
})

test('a re-send refuses while evidence says applied, also when the proof came after “it did not”', async () => {
  const by = await inDoubt()
  await answer(by, 'did_not')
  expect(await addEvidence(stage.ledger, by.runId, 'k', { entry: '"late"', result: '"receipt"' })).toBe('failed')
  const again = await rearmAction(stage.ledger, by, 'k', newId(), '1', 0)
  expect(again.outcome).toBe('evidence')
  expect((await actionNow(stage, by.runId, 'k')).sends).toBe(1)
  expect(await settleAction(stage.ledger, by, 'k', { verdict: 'applied', by: 'evidence' })).toMatchObject({ status: 'committed', result: '"receipt"' })
})

test('an earlier holder’s proof beats the verdicts “not applied” and “in doubt” of the one who settles', async () => {
  for (const verdict of ['not_applied', 'in_doubt'] as const) {
    const runId = await runOf(stage, 1)
    const zombie = await claim(stage, runId, 1)
    await started(stage, zombie, 'k')
    await endLease(stage, zombie)
    const by = await claim(stage, runId, 1)
    await addEvidence(stage.ledger, runId, 'k', { entry: '"answer came"', result: '"receipt"', undo: null })
    expect(await settleAction(stage.ledger, by, 'k', { verdict, by: 'verify' })).toMatchObject({ status: 'committed', result: '"receipt"', settled_by: 'evidence' })
  }
  expect(await addEvidence(stage.ledger, await runOf(stage, 1), 'nothing', { entry: '1' })).toBeNull()
})

test('a late proof is kept although the ledger was away when it came', async () => {
  const runId = await runOf(stage, 1)
  await started(stage, await claim(stage, runId, 1), 'k')
  const proxy = await startCuttingProxy(stage.url)
  const ledger = new Ledger({ url: proxy.url, name: 'zombie' })
  await ledger.query('select 1')
  proxy.shut()
  const kept = addEvidence(ledger, runId, 'k', { entry: '"late"', result: '"receipt"' })
  await new Promise((resolve) => setTimeout(resolve, 150))
  proxy.open()
  expect(await kept).toBe('started')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ applied_evidence: '"receipt"' })
  await Promise.all([ledger.close(), proxy.close()])
})

test('a refused re-send proves nothing about the first: the action stays started until every send is proved not applied (hole 4)', async () => {
  const runId = await runOf(stage, 1)
  const first = await claim(stage, runId, 1)
  await started(stage, first, 'k', { effect: 'idempotent', keyWindowMs: 60_000 })
  await endLease(stage, first)
  const by = await claim(stage, runId, 1)
  const again = await rearmAction(stage.ledger, by, 'k', newId(), '1', 0)
  expect(again).toMatchObject({ outcome: 'sent', action: { sends: 2, attempt: 2, refused: 0 } })
  const refusal = await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token: again.action!.token! }, { outcome: 'refused', result: null, error: '{"name":"E","message":"401"}' })] })
  expect([...refusal.completed.values()]).toEqual(['started'])
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', sends: 2, refused: 1, token: null })
  // The naive verdict: refused, therefore failed. Here a person or verify has to say so of every send.
  const single = await started(stage, by, 'single')
  const plain = await flushOne(stage.ledger, by, { completions: [completionOf(single, { outcome: 'refused', result: null })] })
  expect([...plain.completed.values()]).toEqual(['failed'])
  await settleAction(stage.ledger, by, 'k', { verdict: 'not_applied', by: 'verify' })
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'failed', sends: 2, refused: 2 })
})

test('a refused second send is no refusal of the call once the first, thought not to have happened, is proved applied', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  await started(stage, by, 'k')
  await settleAction(stage.ledger, by, 'k', { verdict: 'not_applied', by: 'verify' })
  const token = newId()
  expect((await rearmAction(stage.ledger, by, 'k', token, '1', 0)).outcome).toBe('sent')
  await addEvidence(stage.ledger, runId, 'k', { entry: '"late"', result: '"receipt"' })
  const refusal = await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token }, { outcome: 'refused', result: null, error: '{}' })] })
  expect([...refusal.completed.values()]).toEqual(['started'])
  expect(await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'pawl' })).toMatchObject({ status: 'committed', result: '"receipt"' })
})

test('“again” is one fenced update: attempt, token and order move, the key’s window never does (hole 24)', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const intent = await started(stage, by, 'k', { effect: 'idempotent', keyWindowMs: 60_000, undo: '{"u":"k"}' })
  const before = await actionNow(stage, runId, 'k')
  await flushOne(stage.ledger, by, { completions: [completionOf(intent, { outcome: 'refused', result: null, error: '"e"' })] })
  await committed(stage, by, 'between', { undo: '{"u":"between"}' })
  const token = newId()
  const again = await rearmAction(stage.ledger, by, 'k', token, '2', 1_000, { timeoutMs: 40_000, settleWindowMs: 0 })
  expect(again).toMatchObject({ outcome: 'sent', action: { id: before.id, attempt: 2, sends: 2, token, status: 'started', tool_version: '2', key_expires_at: before.key_expires_at, error: null } })
  expect(again.action!.order_no).toBeGreaterThan(before.order_no)
  // Another build's tool may take longer; whoever settles this send waits for the longest of all.
  expect(again.action).toMatchObject({ timeout_ms: 40_000, settle_ms: before.settle_ms })
  // A lost answer: the same token is the same rearming.
  expect(await rearmAction(stage.ledger, by, 'k', token, '2', 1_000)).toMatchObject({ outcome: 'sent', action: { attempt: 2, sends: 2 } })
  expect((await rearmAction(stage.ledger, { ...by, epoch: 0 }, 'k', newId(), '2', 0)).outcome).toBe('fenced')
  await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token })] })
  expect((await rearmAction(stage.ledger, by, 'k', newId(), '2', 0)).outcome).toBe('taken')
  // Newest first by the order of the sends that count, not of the rows: by id the re-sent one would be undone too late (P19).
  const byId = await stage.value(`select key from pawl.actions where run_id = $1 and status = 'committed' order by id desc limit 1`, [runId])
  expect(byId).toBe('between')
  expect((await nextToUndo(stage.ledger, runId))?.key).toBe('k')
})

test('a re-call needs its key’s window; a row all of whose sends are refused does not', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const intent = await started(stage, by, 'k', { effect: 'idempotent', keyWindowMs: 5_000 })
  expect((await rearmAction(stage.ledger, by, 'k', newId(), '1', 35_000)).outcome).toBe('key_expired')
  await flushOne(stage.ledger, by, { completions: [completionOf(intent, { outcome: 'unsent', result: null })] })
  expect((await rearmAction(stage.ledger, by, 'k', newId(), '1', 35_000)).outcome).toBe('sent')
})

test('two re-sends of one key race: the action row has one winner', async () => {
  const runId = await runOf(stage, 3)
  const owner = await claim(stage, runId, 1)
  const intent = await started(stage, owner, 'k')
  await flushOne(stage.ledger, owner, { completions: [completionOf(intent, { outcome: 'refused', result: null })] })
  await finishOne(stage, owner, 'failed', { error: '"no"', isFailure: true })
  const one = await claim(stage, runId, 2)
  const two = await claim(stage, runId, 3)
  const holding = stage.session()
  await holding.query('begin')
  await holding.query(`select 1 from pawl.actions where run_id = $1 and key = 'k' for update`, [runId])
  const racing = [one, two].map((by) => rearmAction(stage.another({ name: `taker-${by.seq}` }), by, 'k', newId(), '1', 0))
  await Promise.all(['taker-2', 'taker-3'].map((name) => stage.waits(name)))
  await holding.query('rollback')
  const outcomes = (await Promise.all(racing)).map((answerOf) => answerOf.outcome)
  expect(outcomes.toSorted()).toEqual(['sent', 'taken'])
  const row = await actionNow(stage, runId, 'k')
  expect([2, 3]).toContain(row.item_seq)
  expect(row.sends).toBe(2)
})

test('a key whose owner is alive is not taken over, one whose owner failed for good is (hole 25)', async () => {
  const runId = await runOf(stage, 2)
  const owner = await claim(stage, runId, 1)
  const intent = await started(stage, owner, 'k')
  const other = await claim(stage, runId, 2)
  expect((await rearmAction(stage.ledger, other, 'k', newId(), '1', 0)).outcome).toBe('taken')
  expect(await blockItem(stage.ledger, other, 'key', { key: 'k' })).toBe('blocked')
  await flushOne(stage.ledger, owner, { completions: [completionOf(intent, { outcome: 'refused', result: null })] })
  // Owner may still try again: the waiting item must not spin as pending.
  await wakeItems(stage.ledger, runId)
  expect((await itemNow(stage, other)).status).toBe('blocked')
  await finishOne(stage, owner, 'failed', { error: '"no"' })
  expect(await wakeItems(stage.ledger, runId)).toEqual([runId])
  const next = await claim(stage, runId, 2)
  expect(await rearmAction(stage.ledger, next, 'k', newId(), '1', 0)).toMatchObject({ outcome: 'sent', action: { item_seq: 2, attempt: 2, epoch: next.epoch } })
})

test('whoever takes a key over takes it for its own turn, or none: the owner\'s turn means nothing there', async () => {
  for (const turn of [null, 4]) {
    const runId = await runOf(stage, 2)
    const owner = await claim(stage, runId, 1)
    const intent = await started(stage, owner, 'k')
    await stage.rows('update pawl.actions set turn = 2 where run_id = $1', [runId])
    await flushOne(stage.ledger, owner, { completions: [completionOf(intent, { outcome: 'refused', result: null })] })
    expect(await rearmAction(stage.ledger, owner, 'k', newId(), '1', 0)).toMatchObject({ outcome: 'sent', action: { turn: 2 } })
    const again = await actionNow(stage, runId, 'k')
    await flushOne(stage.ledger, owner, { completions: [completionOf({ ...intent, token: again.token! }, { outcome: 'refused', result: null })] })
    await finishOne(stage, owner, 'failed', { error: '"no"' })
    const next = await claim(stage, runId, 2)
    expect(await rearmAction(stage.ledger, next, 'k', newId(), '1', 0, undefined, turn)).toMatchObject({ outcome: 'sent', action: { item_seq: 2, turn } })
  }
})

test('a failed call is its owner’s to send again as long as the owner lives (hole 25)', async () => {
  const runId = await runOf(stage, 2)
  const owner = await claim(stage, runId, 1)
  const intent = await started(stage, owner, 'k')
  await flushOne(stage.ledger, owner, { completions: [completionOf(intent, { outcome: 'refused', result: null })] })
  const other = await claim(stage, runId, 2)
  expect(await rearmAction(stage.ledger, other, 'k', newId(), '1', 0)).toMatchObject({ outcome: 'taken', action: { item_seq: 1, status: 'failed' } })
  expect((await rearmAction(stage.ledger, owner, 'k', newId(), '1', 0)).outcome).toBe('sent')
})

test('an item that waits for a key is woken when its owner’s call is settled, whoever settles it (hole 25)', async () => {
  const runId = await runOf(stage, 2)
  const owner = await claim(stage, runId, 1)
  const intent = await started(stage, owner, 'k')
  const other = await claim(stage, runId, 2)
  expect(await blockItem(stage.ledger, other, 'key', { key: 'k' })).toBe('blocked')
  expect(await wakeItems(stage.ledger, runId)).toEqual([])
  await flushOne(stage.ledger, owner, { completions: [completionOf(intent)] })
  expect(await wakeItems(stage.ledger, null)).toContain(runId)
  expect(await itemNow(stage, other)).toMatchObject({ status: 'pending', blocked_reason: null })
  // And one that parks after the settling does not sleep at all.
  const late = await claim(stage, runId, 2)
  expect(await blockItem(stage.ledger, late, 'key', { key: 'k' })).toBe('pending')
})

test('an abandoned call fails its item when it wakes and stays unknown for ever', async () => {
  const by = await inDoubt()
  expect(await blockItem(stage.ledger, by, 'in_doubt', {})).toBe('blocked')
  expect((await answer(by, 'abandon')).outcome).toBe('answered')
  await wakeItems(stage.ledger, by.runId)
  expect(await itemNow(stage, by)).toMatchObject({ status: 'failed', blocked_reason: null })
  expect((await rearmAction(stage.ledger, by, 'k', newId(), '1', 0)).outcome).toBe('fenced')
})

test('a person’s release frees what no answer frees, and never an item with a call that is open', async () => {
  const runId = await runOf(stage, 3)
  const by = await claim(stage, runId, 1)
  expect(await releaseItem(stage.ledger, runId, 1, 'resume', { actor: 'ann' })).toMatchObject({ outcome: 'wrong_state', status: 'in_progress' })
  await blockItem(stage.ledger, by, 'diverged', { tool: 'x' })
  expect(await releaseItem(stage.ledger, runId, 1, 'resume', { actor: 'ann', newCalls: true })).toEqual({ outcome: 'released', status: 'pending', reason: 'diverged' })
  const next = await claim(stage, runId, 1)
  expect(next.answer.item?.allow_new_calls).toBe(true)
  await started(stage, next, 'k')
  await blockItem(stage.ledger, next, 'conflict', {})
  expect((await releaseItem(stage.ledger, runId, 1, 'fail', { actor: 'ann' })).outcome).toBe('wrong_state')
  const clean = await claim(stage, runId, 2)
  await blockItem(stage.ledger, clean, 'tool_input', {})
  expect(await releaseItem(stage.ledger, runId, 2, 'fail', { actor: 'ann', note: 'give up' })).toMatchObject({ outcome: 'released', status: 'failed' })
  expect((await itemNow(stage, clean)).error).toContain('give up')
  expect((await releaseItem(stage.ledger, runId, 99, 'fail', { actor: 'ann' })).outcome).toBe('missing')
})

test('in doubt is released by its answer only', async () => {
  const by = await inDoubt()
  await blockItem(stage.ledger, by, 'in_doubt', {})
  expect((await releaseItem(stage.ledger, by.runId, 1, 'resume', { actor: 'ann' })).outcome).toBe('wrong_state')
})

test('a send that was never made is told by whoever would have made it, after its item is lost too; a token is counted once, and a newer send knows nothing of it', async () => {
  const by = await inDoubt('k', 60_000)
  const first = await actionNow(stage, by.runId, 'k')
  await endLease(stage, by)
  const error = '{"name":"NotSent","message":"stopped","code":"unsent"}'
  expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token: newId(), error })).toBeNull()
  expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token: first.token!, error })).toBe('failed')
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'failed', sends: 1, refused: 1, answerable_at: null, settled_by: 'worker' })
  expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token: first.token!, error })).toBeNull()
  expect((await actionNow(stage, by.runId, 'k')).refused).toBe(1)

  // A second send that nobody knows the end of: that a third was never made says nothing about it.
  const next = await claim(stage, by.runId, 1)
  await rearmAction(stage.ledger, next, 'k', newId(), '1', 0)
  const token = newId()
  await rearmAction(stage.ledger, next, 'k', token, '1', 0)
  expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token, error })).toBe('started')
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'started', sends: 3, refused: 2, token: null })
})

test('proof that it was applied outweighs the word that a send was never made', async () => {
  const by = await inDoubt('k', 60_000)
  const { token } = await actionNow(stage, by.runId, 'k')
  await stage.rows(`update pawl.actions set applied_evidence = '"receipt"' where run_id = $1 and key = 'k'`, [by.runId])
  expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token: token!, error: '{}' })).toBe('in_doubt')
})

test('a settler, or a compensation, does not make a call whose sender says meanwhile that it never was', async () => {
  for (const stop of [cancelRun, startCompensation]) {
    const by = await claim(stage, await runOf(stage, 2), 1)
    await started(stage, by, 'k')
    const { token } = await actionNow(stage, by.runId, 'k')
    await stop(stage.ledger, by.runId, 'ann', null)
    const settler = await claim(stage, by.runId, 3)
    expect(await addRefusal(stage.ledger, by.runId, { key: 'k', token: token!, error: '{"code":"unsent"}' })).toBe('failed')
    expect((await rearmAction(stage.ledger, settler, 'k', newId(), '1', 0)).outcome).toBe('taken')
    expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'failed', sends: 1, refused: 1 })
  }
})
