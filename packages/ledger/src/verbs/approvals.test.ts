import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditLedger } from '../audit/audit-ledger.ts'
import { actionNow, claim, committed, completionOf, endLease, finishOne, flushOne, intentOf, itemNow, openStage, runOf, type Claimed, type Stage } from '../stage.testsuite.ts'
import { decideApprovals, discardActions, expireApprovals, listStaged, requestApproval, stageAction, type KeptCall } from './approvals.ts'
import { listInbox } from '../reads/list-inbox.ts'
import { advanceRun } from './dispatch.ts'
import { blockItem, wakeItems } from './items.ts'
import { cancelRun, closeRun, resumeRun, startCompensation } from './runs.ts'
import { rearmAction } from './settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const call = (key: string, given: Partial<KeptCall> = {}): KeptCall => ({ ...intentOf(key), turn: null, ...given })
const shown = (given: Partial<KeptCall> = {}): string => `${given.toolVersion ?? '1'}/${given.argsDigest ?? 'd1'}`
const ask = (by: Claimed, key: string, given: Partial<KeptCall> = {}, expiresMs = 60_000) =>
  requestApproval(stage.ledger, by, call(key, given), { digest: shown(given), irreversible: true, expiresMs })
const say = async (by: Claimed, key: string, verdict: 'approved' | 'rejected', { digest = 'd1', version = '1', actor = 'ann' } = {}) => {
  const action = await actionNow(stage, by.runId, key)
  const [decided] = await decideApprovals(stage.ledger, by.runId, [{ actionId: action.id, digest: `${version}/${digest}`, verdict }], { actor, note: 'so be it' })
  return decided
}
const send = async (by: Claimed, key: string, version = '1') => (await rearmAction(stage.ledger, by, key, newId(), version, 0)).outcome
const park = (by: Claimed, ...approvals: (number | undefined)[]) => blockItem(stage.ledger, by, 'approval', { approvals })

async function waiting(keys: readonly string[] = ['k']): Promise<Claimed & { approvals: number[] }> {
  const by = await claim(stage, await runOf(stage, 2), 1)
  const approvals: number[] = []
  for (const key of keys) approvals.push((await ask(by, key)).approval!.id)
  return { ...by, approvals }
}

test('a request is written at once, without a send; asked again it is the same request', async () => {
  const by = await waiting()
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'awaiting_approval', sends: 0, attempt: 0, token: null, approval_id: by.approvals[0] })
  expect(await ask(by, 'k')).toMatchObject({ outcome: 'waiting', approval: { id: by.approvals[0], status: 'open', irreversible: true } })
  expect(await ask({ ...by, epoch: 0 }, 'k')).toMatchObject({ outcome: 'fenced' })
  expect(await ask(by, 'k', { argsDigest: 'd2' })).toMatchObject({ outcome: 'exists', action: { args_digest: 'd1' } })
  expect(await send(by, 'k')).toBe('approval')
})

test('a yes is used once, inside the intent, by the first send', async () => {
  const by = await waiting()
  expect(await say(by, 'k', 'approved')).toMatchObject({ outcome: 'approved', approval: { decided_by: 'ann', consumed_at: null } })
  const token = newId()
  const sent = await rearmAction(stage.ledger, by, 'k', token, '1', 0)
  expect(sent).toMatchObject({ outcome: 'sent', action: { status: 'started', sends: 1, attempt: 1 } })
  // The same send, its answer lost: no second use.
  expect((await rearmAction(stage.ledger, by, 'k', token, '1', 0)).outcome).toBe('sent')
  await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'k', token })] })
  expect(await stage.value('select consumed_at is not null from pawl.approvals where run_id = $1', [by.runId])).toBe(true)
  expect(await stage.rows(`select actor, kind from pawl.events where run_id = $1 and kind like 'approval.%' order by id`, [by.runId])).toEqual([
    { actor: 'pawl', kind: 'approval.requested' }, { actor: 'ann', kind: 'approval.approved' },
  ])
  expect((await auditLedger(stage.ledger, { runId: by.runId })).violations).toEqual([])
})

test('a used yes that was put back by hand, or another call’s, is named by the audit', async () => {
  const by = await waiting()
  await say(by, 'k', 'approved')
  expect(await send(by, 'k')).toBe('sent')
  await stage.rows('update pawl.approvals set consumed_at = null where run_id = $1', [by.runId])
  expect((await auditLedger(stage.ledger, { runId: by.runId })).violations.map((one) => one.name)).toEqual(['sent-after-a-yes'])
})

test('of 20 parallel decisions one decides; the others are told who was first and when', async () => {
  const by = await waiting()
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => say(by, 'k', i % 2 === 0 ? 'approved' : 'rejected', { actor: `p${i}` })))
  const winners = answers.filter((one) => one?.outcome !== 'decided')
  expect(winners).toHaveLength(1)
  for (const loser of answers.filter((one) => one?.outcome === 'decided')) expect(loser?.approval).toMatchObject({ decided_by: winners[0]?.approval?.decided_by, decided_at: winners[0]?.approval?.decided_at })
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind in ('approval.approved', 'approval.rejected')`, [by.runId])).toBe(1)
})

test('a yes binds to the version and the arguments that were shown', async () => {
  const by = await waiting()
  expect(await say(by, 'k', 'approved', { digest: 'd2' })).toMatchObject({ outcome: 'changed' })
  expect(await say(by, 'k', 'approved', { version: '2' })).toMatchObject({ outcome: 'changed' })
  await say(by, 'k', 'approved')
  // A build with another version of the tool: the yes is void, and the new one is asked for.
  expect(await send(by, 'k', '2')).toBe('approval')
  expect(await ask(by, 'k', { toolVersion: '2' })).toMatchObject({ outcome: 'waiting', approval: { tool_version: '2', status: 'open' } })
  expect(await stage.rows('select status from pawl.approvals where run_id = $1 order by id', [by.runId])).toEqual([{ status: 'void' }, { status: 'open' }])
  expect(await say(by, 'k', 'approved')).toMatchObject({ outcome: 'changed' })
  // Arguments edited by hand after the yes: nothing is sent.
  await say(by, 'k', 'approved', { version: '2' })
  await stage.rows(`update pawl.actions set args_digest = 'forged' where run_id = $1`, [by.runId])
  expect(await send(by, 'k', '2')).toBe('approval')
})

test('approving what was shown leaves a call that arrived since untouched (hole 13)', async () => {
  const by = await waiting(['a', 'b'])
  const page = await Promise.all(['a', 'b'].map((key) => actionNow(stage, by.runId, key)))
  await ask(by, 'late')
  const answers = await decideApprovals(stage.ledger, by.runId, page.map(({ id }) => ({ actionId: id, digest: '1/d1', verdict: 'approved' })), { actor: 'ann' })
  expect(answers.map((one) => one.outcome)).toEqual(['approved', 'approved'])
  expect([await send(by, 'a'), await send(by, 'b'), await send(by, 'late')]).toEqual(['sent', 'sent', 'approval'])
})

test('a used yes covers retries and re-sends until it runs out; after a failure and a resume it is asked for anew (hole 13)', async () => {
  const by = await waiting()
  await say(by, 'k', 'approved')
  const refuse = async (holder: Claimed) => {
    const { token } = await actionNow(stage, holder.runId, 'k')
    await flushOne(stage.ledger, holder, { completions: [completionOf({ key: 'k', token: token ?? '' }, { outcome: 'refused', result: null, error: '{"name":"x","message":"no"}' })] })
  }
  expect(await send(by, 'k')).toBe('sent')
  await refuse(by)
  expect(await send(by, 'k')).toBe('sent')
  // Unsettled, its holder gone: the next one may send again.
  await endLease(stage, by)
  const next = await claim(stage, by.runId, 1)
  expect(await send(next, 'k')).toBe('sent')
  await stage.rows(`update pawl.actions set refused = sends - 1 where run_id = $1`, [by.runId])
  await refuse(next)
  await finishOne(stage, next, 'failed', { error: '{"name":"x","message":"no"}' })
  await finishOne(stage, await claim(stage, by.runId, 2))
  await advanceRun(stage.ledger, by.runId)
  const finalizer = await claim(stage, by.runId, 3)
  await closeRun(stage.ledger, finalizer, { status: 'failed', result: null, error: null })
  await resumeRun(stage.ledger, by.runId, 'bob')
  const later = await claim(stage, by.runId, 1)
  expect(await send(later, 'k')).toBe('approval')
  expect(await ask(later, 'k')).toMatchObject({ outcome: 'waiting', action: { status: 'awaiting_approval', sends: 3, refused: 3 } })
  await say(later, 'k', 'approved')
  expect(await send(later, 'k')).toBe('sent')
  expect((await auditLedger(stage.ledger, { runId: by.runId })).violations).toEqual([])
})

test('a request that ran out is refused, expired by the sweep, and asked for anew; a used yes that ran out allows no further send', async () => {
  const by = await waiting()
  const runOut = () => stage.rows(`update pawl.approvals set expires_at = clock_timestamp() - interval '1 second' where run_id = $1`, [by.runId])
  await runOut()
  expect(await say(by, 'k', 'approved')).toMatchObject({ outcome: 'expired' })
  expect(await ask(by, 'k')).toMatchObject({ outcome: 'waiting', approval: { status: 'open' } })
  await runOut()
  expect(await expireApprovals(stage.ledger)).toBe(1)
  const { approval } = await ask(by, 'k')
  expect(approval).toMatchObject({ status: 'open' })
  await say(by, 'k', 'approved')
  expect(await send(by, 'k')).toBe('sent')
  await runOut()
  expect(await send(by, 'k')).toBe('approval')
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'started', sends: 1 })
})

test('an early answer is kept: the item that parks afterwards does not sleep, nor one whose request ran out (hole 1)', async () => {
  const by = await waiting()
  await say(by, 'k', 'approved')
  expect(await ask(by, 'k')).toMatchObject({ outcome: 'given' })
  expect(await park(by, by.approvals[0])).toBe('pending')
  const other = await waiting()
  expect(await park(other, other.approvals[0])).toBe('blocked')
  await stage.rows(`update pawl.approvals set expires_at = clock_timestamp() where run_id = $1`, [other.runId])
  expect(await wakeItems(stage.ledger, null)).toContain(other.runId)
})

test('the yes that comes while an item is parking waits for it, and the item is awake afterwards (hole 1)', async () => {
  const by = await waiting()
  const { id } = await actionNow(stage, by.runId, 'k')
  const worker = stage.session()
  await worker.query('begin')
  await worker.query(`select pawl.block_item($1, 1, $2, 'approval', $3)`, [by.runId, by.epoch, JSON.stringify({ approvals: by.approvals })])
  const person = stage.session('decides-after')
  const decided = person.query(`select outcome from pawl.decide_approvals($1, array[$2]::bigint[], array['1/d1'], array['approved'], 'ann', null)`, [by.runId, id])
  await stage.waits('decides-after')
  await worker.query('commit')
  expect(await decided).toEqual([{ outcome: 'approved' }])
  expect(await itemNow(stage, by)).toMatchObject({ status: 'blocked', blocked_reason: 'approval' })
  await wakeItems(stage.ledger, by.runId)
  expect(await itemNow(stage, by)).toMatchObject({ status: 'pending', blocked_reason: null })
})

test('the item that parks while a yes is being written waits for it, and does not park (hole 1)', async () => {
  const by = await waiting()
  const { id } = await actionNow(stage, by.runId, 'k')
  const person = stage.session()
  await person.query('begin')
  await person.query(`select outcome from pawl.decide_approvals($1, array[$2]::bigint[], array['1/d1'], array['approved'], 'ann', null)`, [by.runId, id])
  const worker = stage.session('parks-later')
  const parked = worker.query(`select pawl.block_item($1, 1, $2, 'approval', $3)`, [by.runId, by.epoch, JSON.stringify({ approvals: by.approvals })])
  await stage.waits('parks-later')
  await person.query('commit')
  expect(await parked).toEqual([{ block_item: 'pending' }])
})

test('of several requests the first answer wakes the item', async () => {
  const by = await waiting(['a', 'b', 'c'])
  expect(await park(by, ...by.approvals)).toBe('blocked')
  expect(await wakeItems(stage.ledger, by.runId)).toEqual([])
  expect(await say(by, 'c', 'rejected')).toMatchObject({ outcome: 'rejected', action: { status: 'rejected', error: expect.stringContaining('ann said no to sendMail: so be it') as string } })
  expect(await wakeItems(stage.ledger, by.runId)).toEqual([by.runId])
})

test('where the policy says so, who started the run may say no, and not yes', async () => {
  const by = await claim(stage, await runOf(stage, 1, { createdBy: 'ann', policy: { onFailure: 'hold', approval: { notByRequester: true } } }), 1)
  await ask(by, 'k')
  await ask(by, 'l')
  expect(await say(by, 'k', 'approved')).toMatchObject({ outcome: 'requester', approval: { status: 'open' } })
  expect(await say(by, 'k', 'approved', { actor: 'bob' })).toMatchObject({ outcome: 'approved' })
  expect(await say(by, 'l', 'rejected')).toMatchObject({ outcome: 'rejected' })
})

test('cancel and compensation discard what waits; nothing can be approved or sent after that', async () => {
  for (const stop of [cancelRun, startCompensation]) {
    const by = await waiting(['open', 'given'])
    await say(by, 'given', 'approved')
    await stageAction(stage.ledger, by, call('staged'))
    await stop(stage.ledger, by.runId, 'ann', null)
    expect((await stage.rows('select distinct status from pawl.actions where run_id = $1', [by.runId]))).toEqual([{ status: 'discarded' }])
    expect(await say(by, 'open', 'approved')).toMatchObject({ outcome: 'void' })
    expect(await say(by, 'given', 'approved')).toMatchObject({ outcome: 'void' })
    expect(await send(by, 'given')).toBe('fenced')
    expect((await auditLedger(stage.ledger, { runId: by.runId })).violations).toEqual([])
  }
})

test('what an item held back is sent by the finalizer alone, in order; cancelled and resumed, it waits for the end again', async () => {
  const runId = await runOf(stage, 2)
  const [one, two] = [await claim(stage, runId, 1), await claim(stage, runId, 2)]
  for (const [by, key] of [[one, 'a'], [two, 'b'], [one, 'c']] as const) expect(await stageAction(stage.ledger, by, call(key))).toMatchObject({ outcome: 'staged', action: { status: 'staged', sends: 0 } })
  expect(await send(one, 'a')).toBe('taken')
  await discardActions(stage.ledger, one, ['c'])
  await finishOne(stage, one)
  await finishOne(stage, two)
  await advanceRun(stage.ledger, runId)
  const first = await claim(stage, runId, 3)
  expect((await listStaged(stage.ledger, runId)).map((action) => action.key)).toEqual(['a', 'b'])
  expect(await closeRun(stage.ledger, first, { status: 'completed', result: null, error: null })).toBe('open')
  await cancelRun(stage.ledger, runId, 'ann', null)
  expect(await listStaged(stage.ledger, runId)).toEqual([])
  await resumeRun(stage.ledger, runId, 'ann')
  await advanceRun(stage.ledger, runId)
  const finalizer = await claim(stage, runId, first.seq)
  expect((await listStaged(stage.ledger, runId)).map((action) => action.key)).toEqual(['a', 'b'])
  for (const key of ['a', 'b']) {
    const { outcome, action } = await rearmAction(stage.ledger, finalizer, key, newId(), '1', 0)
    expect({ outcome, seq: action?.item_seq, by: action?.staged_by }).toEqual({ outcome: 'sent', seq: first.seq, by: key === 'a' ? 1 : 2 })
    await flushOne(stage.ledger, finalizer, { completions: [completionOf({ key, token: action?.token ?? '' })] })
  }
  expect(await closeRun(stage.ledger, finalizer, { status: 'completed', result: null, error: null })).toBe('closed')
  expect((await auditLedger(stage.ledger, { runId })).violations).toEqual([])
})

test('the window in which a receiver remembers a key begins with the first send, not with the request', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  await ask(by, 'k', { effect: 'idempotent', keyWindowMs: 60_000 })
  expect((await actionNow(stage, by.runId, 'k')).key_expires_at).toBeNull()
  await say(by, 'k', 'approved')
  await send(by, 'k')
  expect(Date.parse((await actionNow(stage, by.runId, 'k')).key_expires_at ?? '') - Date.now()).toBeGreaterThan(30_000)
})

test('an approval of 30 days is open after the sweep (case 73)', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  await ask(by, 'k', {}, 30 * 86_400_000)
  await committed(stage, by, 'other')
  await expireApprovals(stage.ledger)
  expect(await ask(by, 'k')).toMatchObject({ outcome: 'waiting', approval: { status: 'open' } })
  expect(Date.parse((await ask(by, 'k')).approval?.expires_at ?? '') - Date.now()).toBeGreaterThan(29 * 86_400_000)
})

test('the inbox shows the arguments of every call that waits in whole, on as many pages as they take', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  const keys = ['a', 'b', 'c', 'd', 'e', 'f']
  const args = (key: string): string => JSON.stringify({ body: key.repeat(key === 'a' ? 10 : 990_000) })
  for (const key of keys) await ask(by, key, { args: args(key) })
  const seen: string[] = []
  const sizes: number[] = []
  for (let cursor: string | undefined, n = 0; n < 5; n++) {
    const page = await listInbox(stage.ledger, { namespace: null, runId: by.runId, cursor })
    seen.push(...page.entries.map((entry) => (entry.kind === 'approval' ? entry.approval.args : entry.kind)))
    sizes.push(page.entries.length)
    if (page.cursor === null) break
    cursor = page.cursor
  }
  expect(seen).toEqual(keys.map(args))
  expect(sizes).toEqual([5, 1])
})
