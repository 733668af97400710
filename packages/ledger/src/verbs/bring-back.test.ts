/** After a loss: whose a call is that a worker writes down again, and who finds out what became of it. The loss is played by writing the older rows back. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditLedger } from '../audit/audit-ledger.ts'
import type { ActionRow } from '../rows.ts'
import { actionNow, claim, committed, endLease, finishOne, flushOne, intentOf, itemNow, openStage, runOf, started, type Claimed, type Stage } from '../stage.testsuite.ts'
import { listStaged, requestApproval, stageAction, type KeptCall } from './approvals.ts'
import { bringBackActions } from './bring-back.ts'
import { advanceRun } from './dispatch.ts'
import { blockItem, wakeItems } from './items.ts'
import { cancelRun, closeRun } from './runs.ts'
import { addRefusal, rearmAction, settleAction, type Holder } from './settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const call = (key: string): KeptCall => ({ ...intentOf(key), turn: null })
const broughtBack = async (action: ActionRow, agoMs = 0): Promise<string | undefined> => (await bringBackActions(stage.ledger, [{ action, agoMs, keyLeftMs: null }]))[0]?.outcome
const close = (by: Holder, status = 'completed') => closeRun(stage.ledger, by, { status, result: null, error: null })
const sound = async (runId: string): Promise<void> => { expect((await auditLedger(stage.ledger, { runId })).violations).toEqual([]) }

async function sent(by: Claimed, key = 'k'): Promise<ActionRow> {
  const { outcome, action } = await rearmAction(stage.ledger, by, key, newId(), '1', 0)
  if (outcome !== 'sent' || !action) throw new Error(`not sent: ${outcome}`)
  return action
}

/** Every send of it refused: another item may take the key over. */
async function refused(by: Claimed, key = 'k'): Promise<void> {
  const { token } = await started(stage, by, key)
  await addRefusal(stage.ledger, by.runId, { key, token, error: '{"name":"NotSent","message":"no","code":"unsent"}' })
}

/** One item, of these many, has held a call back and is done. */
async function heldBack(items = 1): Promise<string> {
  const runId = await runOf(stage, items)
  const by = await claim(stage, runId, 1)
  expect((await stageAction(stage.ledger, by, call('k'))).outcome).toBe('staged')
  await finishOne(stage, by)
  return runId
}

/** The ledger as it was before the finalizer made the send, and before there was one at all. */
async function loseSend(runId: string): Promise<void> {
  await stage.rows(`update pawl.actions set status = 'staged', item_seq = 1, sends = 0, attempt = 0, token = null, epoch = 1 where run_id = $1`, [runId])
  await stage.rows(`update pawl.items set status = 'pending', worker_id = null, lease_until = null, epoch = 0, attempts = 0, barren_attempts = 0 where run_id = $1 and kind = 'finalize'`, [runId])
  await stage.rows(`delete from pawl.attempts t using pawl.items i where t.run_id = $1 and i.run_id = $1 and i.seq = t.item_seq and i.kind = 'finalize'`, [runId])
}
async function loseFinalizer(runId: string): Promise<void> {
  await loseSend(runId)
  await stage.rows(`delete from pawl.items where run_id = $1 and kind = 'finalize'`, [runId])
  await stage.rows(`update pawl.runs set status = 'running', next_seq = items_total + 1 where id = $1`, [runId])
}

test('the send of a held-back call is brought back to the finalizer that made it, which settles it before the run ends', async () => {
  const runId = await heldBack()
  await advanceRun(stage.ledger, runId)
  const remembered = await sent(await claim(stage, runId, 2))
  await loseSend(runId)
  expect(await broughtBack(remembered)).toBe('restored')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', item_seq: 2, staged_by: 1, sends: 1, token: remembered.token })
  const finalizer = await claim(stage, runId, 2)
  expect(finalizer.journal).toMatchObject([{ key: 'k', status: 'started' }])
  expect(await close(finalizer)).toBe('open')
  await settleAction(stage.ledger, finalizer, 'k', { verdict: 'applied', result: '1', by: 'verify' })
  expect(await close(finalizer)).toBe('closed')
  await sound(runId)
})

test('where the finalizer is lost as well, the next one has the call as unsettled and does not send it as if it were new', async () => {
  const runId = await heldBack()
  await advanceRun(stage.ledger, runId)
  const remembered = await sent(await claim(stage, runId, 2))
  await loseFinalizer(runId)
  expect(await broughtBack(remembered)).toBe('restored')
  await sound(runId)
  expect((await advanceRun(stage.ledger, runId)).made).toBe(true)
  const finalizer = await claim(stage, runId, await stage.value(`select seq from pawl.items where run_id = $1 and kind = 'finalize'`, [runId]))
  expect(finalizer.journal).toMatchObject([{ key: 'k', status: 'started', sends: 1 }])
  expect(await listStaged(stage.ledger, runId)).toEqual([])
  expect(await close(finalizer)).toBe('open')
  // Found not applied, it is sent then: it was held back for an item that is done.
  await settleAction(stage.ledger, finalizer, 'k', { verdict: 'not_applied', by: 'verify' })
  expect((await listStaged(stage.ledger, runId)).map((action) => action.key)).toEqual(['k'])
  await sound(runId)
})

test('where another finalizer was made meanwhile, the call is that one’s', async () => {
  const runId = await heldBack()
  await advanceRun(stage.ledger, runId)
  const remembered = await sent(await claim(stage, runId, 2))
  await loseFinalizer(runId)
  await stage.rows('update pawl.runs set next_seq = next_seq + 1 where id = $1', [runId])
  await advanceRun(stage.ledger, runId)
  expect(await broughtBack(remembered)).toBe('restored')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', item_seq: 3 })
})

test('where the item that held it back is at work again, it settles the call itself', async () => {
  for (const isRowLost of [false, true]) {
    const runId = await heldBack()
    await advanceRun(stage.ledger, runId)
    const remembered = await sent(await claim(stage, runId, 2))
    await loseFinalizer(runId)
    await stage.rows(`set session_replication_role = replica`)
    await stage.rows(`update pawl.items set status = 'pending', finished_at = null where run_id = $1`, [runId])
    await stage.rows(`set session_replication_role = origin`)
    if (isRowLost) await stage.rows('delete from pawl.actions where run_id = $1', [runId])
    expect(await broughtBack(remembered)).toBe('restored')
    expect((await claim(stage, runId, 1)).journal).toMatchObject([{ key: 'k', status: 'started', staged_by: 1 }])
  }
})

test('an item that makes the same held-back call meanwhile does not wait for an end that waits for it', async () => {
  const runId = await heldBack(2)
  const two = await claim(stage, runId, 2)
  await finishOne(stage, two)
  await advanceRun(stage.ledger, runId)
  const remembered = await sent(await claim(stage, runId, 3))
  await loseFinalizer(runId)
  await stage.rows(`set session_replication_role = replica`)
  await stage.rows(`update pawl.items set status = 'pending', finished_at = null where run_id = $1 and seq = 2`, [runId])
  await stage.rows(`set session_replication_role = origin`)
  expect(await broughtBack(remembered)).toBe('restored')
  const again = await claim(stage, runId, 2)
  expect((await stageAction(stage.ledger, again, call('k'))).outcome).toBe('held')
  await finishOne(stage, again)
  await advanceRun(stage.ledger, runId)
  expect((await claim(stage, runId, await stage.value(`select seq from pawl.items where run_id = $1 and kind = 'finalize'`, [runId]))).journal).toMatchObject([{ key: 'k', status: 'started' }])
})

test('a takeover and its send are brought back to the item that took the key over, and it settles the call', async () => {
  const runId = await runOf(stage, 2)
  const one = await claim(stage, runId, 1)
  await refused(one)
  await finishOne(stage, one, 'failed', { error: '{}' })
  const two = await claim(stage, runId, 2)
  const remembered = await sent(two)
  await stage.rows(`update pawl.actions set status = 'failed', item_seq = 1, sends = 1, refused = 1, attempt = 1, token = null, epoch = 1 where run_id = $1`, [runId])
  expect(await broughtBack(remembered)).toBe('restored')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', item_seq: 2, sends: 2, refused: 1, settled_by: null, error: null })
  await blockItem(stage.ledger, two, 'key', { key: 'k' })
  await wakeItems(stage.ledger, runId)
  expect((await claim(stage, runId, 2)).journal).toMatchObject([{ key: 'k', status: 'started' }])
  await sound(runId)
})

test('a run does not end over an unsettled call of an item that has ended: its finalizer takes the call over and settles it', async () => {
  for (const status of ['completed', 'failed']) {
    const runId = await runOf(stage, 1)
    const by = await claim(stage, runId, 1)
    await committed(stage, by, 'k')
    await finishOne(stage, by)
    await advanceRun(stage.ledger, runId)
    const finalizer = await claim(stage, runId, 2)
    await stage.rows(`update pawl.actions set status = 'started' where run_id = $1`, [runId])
    expect(await close(finalizer, status)).toBe('open')
    await stage.rows(`update pawl.items set status = 'pending', worker_id = null, lease_until = null where run_id = $1 and seq = 2`, [runId])
    const again = await claim(stage, runId, 2)
    expect(again.journal).toMatchObject([{ key: 'k', status: 'started' }])
    await settleAction(stage.ledger, again, 'k', { verdict: 'not_applied', by: 'verify' })
    expect(await close(again, status)).toBe('closed')
    await sound(runId)
  }
})

test('a send the ledger does not know of, beside another one under the same number, is one more that nobody knows about; it is counted once', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  await started(stage, by, 'k')
  const lost = await actionNow(stage, runId, 'k')
  // Lost, and made again as if it were new: the same number, another token.
  const other = newId()
  await stage.rows(`update pawl.actions set token = $2, order_no = nextval('pawl.order_no') where run_id = $1`, [runId, other])
  for (const outcome of ['restored', 'kept']) expect(await broughtBack(lost)).toBe(outcome)
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', sends: 2, attempt: 2, refused: 0, token: other })
  // A refusal of the one says nothing of the other.
  expect(await addRefusal(stage.ledger, runId, { key: 'k', token: other, error: '{}' })).toBe('started')
  expect(await broughtBack(lost)).toBe('kept')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ status: 'started', sends: 2, refused: 1 })
})

test('a send that was refused in the meantime is the one that is remembered, and is not counted again', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const { token } = await started(stage, by, 'k')
  const remembered = await actionNow(stage, runId, 'k')
  await addRefusal(stage.ledger, runId, { key: 'k', token, error: '{}' })
  expect(await broughtBack(remembered)).toBe('kept')
  await sent(by)
  expect(await broughtBack(remembered)).toBe('kept')
  expect(await actionNow(stage, runId, 'k')).toMatchObject({ sends: 2, refused: 1 })
})

test('a lost send of a call that stands in the ledger with another one’s result may have been made twice, and is told as that', async () => {
  const runId = await runOf(stage, 2)
  const by = await claim(stage, runId, 1)
  for (const [key, effect, outcome] of [['opaque', 'non-idempotent', 'twice'], ['keyed', 'idempotent', 'kept']] as const) {
    await started(stage, by, key, { effect })
    const lost = await actionNow(stage, runId, key)
    await stage.rows(`update pawl.actions set status = 'committed', result = '1', token = $2, order_no = nextval('pawl.order_no') where run_id = $1 and key = $3`, [runId, newId(), key])
    expect(await broughtBack(lost)).toBe(outcome)
  }
})

test('a worker that comes late, after the clearing, ends the attempt that goes by the older journal: it would send again', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  await refused(by)
  const remembered = await sent(by)
  await stage.rows(`update pawl.actions set status = 'failed', sends = 1, refused = 1, attempt = 1, token = null where run_id = $1`, [runId])
  await endLease(stage, by)
  const stale = await claim(stage, runId, 1)
  expect(stale.journal).toMatchObject([{ status: 'failed' }])
  expect(await broughtBack(remembered)).toBe('restored')
  expect((await rearmAction(stage.ledger, stale, 'k', newId(), '1', 0)).outcome).toBe('fenced')
  expect(await itemNow(stage, stale)).toMatchObject({ status: 'pending', lease_until: null })
  expect((await claim(stage, runId, 1)).journal).toMatchObject([{ status: 'started', sends: 2 }])
})

test('nobody is asked any more for the yes to a call whose send was brought back, and its item does not wait for one', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const { approval } = await requestApproval(stage.ledger, by, call('k'), { digest: 'd', irreversible: true, expiresMs: 60_000 })
  const remembered: ActionRow = { ...(await actionNow(stage, runId, 'k')), status: 'started', sends: 1, attempt: 1, token: newId() }
  await blockItem(stage.ledger, by, 'approval', { approvals: [approval?.id] })
  expect(await broughtBack(remembered)).toBe('restored')
  expect(await stage.value('select status from pawl.approvals where run_id = $1', [runId])).toBe('void')
  await wakeItems(stage.ledger, runId)
  expect((await claim(stage, runId, 1)).journal).toMatchObject([{ key: 'k', status: 'started' }])
})

test('what nobody would settle is not brought back: a person is told', async () => {
  const runId = await runOf(stage, 2)
  const by = await claim(stage, runId, 1)
  await started(stage, by, 'k')
  const remembered = await actionNow(stage, runId, 'k')
  await stage.rows('delete from pawl.actions where run_id = $1', [runId])
  expect(await broughtBack({ ...remembered, item_seq: 9 })).toBe('missing')
  await cancelRun(stage.ledger, runId, 'ann', null)
  expect(await broughtBack(remembered)).toBe('ended')
  expect((await flushOne(stage.ledger, by, {})).locked.size).toBe(0)

  const ended = await heldBack()
  await advanceRun(stage.ledger, ended)
  const late = await sent(await claim(stage, ended, 2))
  await loseSend(ended)
  await cancelRun(stage.ledger, ended, 'ann', null)
  expect(await broughtBack(late)).toBe('ended')
})
