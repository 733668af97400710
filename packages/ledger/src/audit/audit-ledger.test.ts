import { newId } from '@pawl/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { actionNow, claim, committed, completionOf, finishOne, flushOne, openStage, runOf, started, type Claimed, type Stage } from '../stage.testsuite.ts'
import { nextToUndo } from '../verbs/compensation.ts'
import { advanceRun } from '../verbs/dispatch.ts'
import { addItems, blockItem } from '../verbs/items.ts'
import { cancelRun, closeCompensation, closeRun, resumeRun, startCompensation } from '../verbs/runs.ts'
import { addEvidence, answerDoubt, rearmAction, settleAction } from '../verbs/settle.ts'
import { auditLedger } from './audit-ledger.ts'
import { invariants } from './invariants.ts'
import { oracleInvariants } from './oracle.ts'

let stage: Stage
beforeEach(async () => { stage = await openStage() })
afterEach(async () => { await stage.close() })

const names = async (runId?: string): Promise<string[]> => (await auditLedger(stage.ledger, runId === undefined ? {} : { runId })).violations.map((found) => found.name)
const seqOf = (runId: string, kind: string): Promise<number> => stage.value('select seq from pawl.items where run_id = $1 and kind = $2 order by seq desc limit 1', [runId, kind])

async function finalize(runId: string, status = 'completed'): Promise<void> {
  await advanceRun(stage.ledger, runId)
  expect(await closeRun(stage.ledger, await claim(stage, runId, await seqOf(runId, 'finalize')), { status, result: null, error: null })).toBe('closed')
}

/** Three items done, one of them by a call that was sent twice; a write per item. */
async function finishedRun(): Promise<{ runId: string; first: Claimed }> {
  const runId = await runOf(stage, 3)
  const all: Claimed[] = []
  for (const seq of [1, 2, 3]) {
    const by = await claim(stage, runId, seq)
    await committed(stage, by, `write-${runId}-${seq}`, { undo: '{}' })
    all.push(by)
  }
  const [first] = all as [Claimed]
  const twice = await started(stage, first, `twice-${runId}`)
  await flushOne(stage.ledger, first, { completions: [completionOf(twice, { outcome: 'refused', result: null, error: '"busy"' })] })
  const again = await rearmAction(stage.ledger, first, twice.key, newId(), '1', 0)
  await flushOne(stage.ledger, first, { completions: [completionOf({ key: twice.key, token: again.action!.token! })] })
  await addItems(stage.ledger, first, [{ key: 'added', payload: '1' }])
  for (const by of all) await finishOne(stage, by)
  await finishOne(stage, await claim(stage, runId, 4))
  await finalize(runId)
  return { runId, first }
}

async function compensatedRun(): Promise<string> {
  const { runId } = await finishedRun()
  await startCompensation(stage.ledger, runId, 'ann', null)
  const by = await claim(stage, runId, await seqOf(runId, 'compensate'))
  for (let next = await nextToUndo(stage.ledger, runId); next; next = await nextToUndo(stage.ledger, runId)) {
    await committed(stage, by, `undo:${next.key}`, { undoes: next.id, effect: 'idempotent' })
  }
  expect((await closeCompensation(stage.ledger, by)).outcome).toBe('closed')
  return runId
}

test('a ledger with runs finished, failed and resumed, cancelled with a call in flight, in doubt, and compensated has no violation', async () => {
  await finishedRun()
  await compensatedRun()
  const resumed = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, resumed, 1), 'failed', { error: '"e"' })
  await finalize(resumed, 'failed')
  await resumeRun(stage.ledger, resumed, 'ann')
  const next = await claim(stage, resumed, 1)
  await committed(stage, next, 'after-resume')
  await finishOne(stage, next)
  await finalize(resumed)
  const cancelled = await runOf(stage, 2)
  await started(stage, await claim(stage, cancelled, 1), 'in-flight')
  await cancelRun(stage.ledger, cancelled, 'ann', null)
  const settler = await claim(stage, cancelled, await seqOf(cancelled, 'settle'))
  await settleAction(stage.ledger, settler, 'in-flight', { verdict: 'in_doubt', by: 'pawl' })
  await addEvidence(stage.ledger, cancelled, 'in-flight', { entry: '1', result: '1' })
  await finishOne(stage, settler)
  for (const answer of ['happened', 'did_not', 'abandon'] as const) {
    const runId = await runOf(stage, 1)
    const by = await claim(stage, runId, 1)
    await started(stage, by, 'k')
    const doubt = await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'pawl' })
    await answerDoubt(stage.ledger, runId, doubt!.id, { attempt: 1, evidence: 0, answer, actor: 'bob' })
  }
  const waiting = await claim(stage, await runOf(stage, 1), 1)
  await started(stage, waiting, 'k')
  await settleAction(stage.ledger, waiting, 'k', { verdict: 'in_doubt', by: 'pawl' })
  await blockItem(stage.ledger, waiting, 'in_doubt', {})
  expect(await auditLedger(stage.ledger)).toEqual({ checked: invariants.length, needingOracle: oracleInvariants.length, violations: [] })
})

test('a re-call by which a cancelled run finds out what happened is no forward intent, one without an undo is', async () => {
  for (const [undo, expected] of [['{}', []], [null, ['no-intent-after-stop']]] as const) {
    const runId = await runOf(stage, 1)
    await started(stage, await claim(stage, runId, 1), 'in-flight', { effect: 'idempotent', undo })
    await cancelRun(stage.ledger, runId, 'ann', null)
    const settler = await claim(stage, runId, await seqOf(runId, 'settle'))
    expect((await rearmAction(stage.ledger, settler, 'in-flight', newId(), '1', 0)).outcome).toBe('sent')
    await settleAction(stage.ledger, settler, 'in-flight', { verdict: 'applied', result: '1', by: 'recall' })
    await finishOne(stage, settler)
    expect(await names(runId)).toEqual(expected)
  }
})

/** Each way to corrupt a ledger, as direct SQL on a finished or compensated run, and the invariant that must name it. */
const corruptions: readonly { name: string; what: string; on: 'finished' | 'compensated'; sql: readonly string[] }[] = [
  { name: 'nothing-missing', what: 'a run is gone, its items are not', on: 'finished', sql: ['delete from pawl.runs where id = $1'] },
  { name: 'nothing-missing', what: 'an item is gone, its action is not', on: 'finished', sql: ['delete from pawl.items where run_id = $1 and seq = 2'] },
  { name: 'nothing-missing', what: 'an item without a trace is gone', on: 'finished', sql: ['delete from pawl.actions where run_id = $1 and item_seq in (2, 3)', 'delete from pawl.items where run_id = $1 and seq in (2, 3)'] },
  { name: 'ended-or-blocked', what: 'an item is blocked for no reason', on: 'finished', sql: [`update pawl.items set status = 'blocked' where run_id = $1 and seq = 2`] },
  { name: 'ended-or-blocked', what: 'an item is held by nobody', on: 'finished', sql: [`update pawl.items set status = 'in_progress', lease_until = clock_timestamp() - interval '1 hour' where run_id = $1 and seq = 2`] },
  { name: 'ended-or-blocked', what: 'an item sleeps for a doubt that is settled', on: 'finished', sql: [`update pawl.items set status = 'blocked', blocked_reason = 'in_doubt' where run_id = $1 and seq = 2`] },
  { name: 'epochs-rise', what: 'an action is above its item’s epoch', on: 'finished', sql: ['update pawl.actions set epoch = 9 where run_id = $1 and item_seq = 2'] },
  { name: 'epochs-rise', what: 'an epoch fell', on: 'finished', sql: ['update pawl.items set epoch = 0 where run_id = $1 and seq = 2'] },
  { name: 'ended-nothing-open', what: 'a done item has a started action', on: 'finished', sql: [`update pawl.actions set status = 'started' where run_id = $1 and item_seq = 2`] },
  { name: 'doubt-blocks', what: 'a live item has a doubt and is not blocked for it', on: 'finished', sql: [`update pawl.actions set status = 'in_doubt' where run_id = $1 and item_seq = 2`, `update pawl.items set status = 'blocked', blocked_reason = 'budget' where run_id = $1 and seq = 2`] },
  { name: 'counters-equal-counts', what: 'items_total lies', on: 'finished', sql: ['update pawl.runs set items_total = items_total + 1 where id = $1'] },
  { name: 'counters-equal-counts', what: 'next_seq is taken', on: 'finished', sql: ['update pawl.runs set next_seq = 2 where id = $1'] },
  { name: 'counters-equal-counts', what: 'sends lie', on: 'finished', sql: ['update pawl.actions set sends = 5 where run_id = $1 and item_seq = 2'] },
  { name: 'counters-equal-counts', what: 'an item’s spent tokens are not its turns’', on: 'finished', sql: ['update pawl.items set tokens_used = 7 where run_id = $1 and seq = 2'] },
  { name: 'turn-before-its-calls', what: 'a call of a turn that is not there', on: 'finished', sql: ['update pawl.actions set turn = 1 where run_id = $1 and item_seq = 2'] },
  { name: 'turn-before-its-calls', what: 'a turn is missing between two', on: 'finished', sql: [`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision) values ($1, 2, 2, 1, 'm', 'p', '{}')`] },
  { name: 'ended-once', what: 'an ended run has a live item', on: 'finished', sql: [`update pawl.items set status = 'pending' where run_id = $1 and seq = 2`] },
  { name: 'ended-once', what: 'a run ended twice', on: 'finished', sql: [`insert into pawl.events (run_id, kind, actor, data) select run_id, kind, actor, data from pawl.events where run_id = $1 and kind = 'run.ended'`] },
  { name: 'ended-once', what: 'a run ended without an event', on: 'finished', sql: [`delete from pawl.events where run_id = $1 and kind = 'run.ended'`] },
  { name: 'ended-once', what: 'a run lives after its closing event', on: 'finished', sql: [`update pawl.runs set status = 'running' where id = $1`] },
  { name: 'one-finalizer-last', what: 'two finalizers live', on: 'finished', sql: ['drop index pawl.items_one_finalizer', `update pawl.items set status = 'pending' where run_id = $1 and kind = 'finalize'`, `insert into pawl.items (run_id, seq, kind, key, payload) values ($1, 99, 'finalize', 'other', '1')`] },
  { name: 'one-finalizer-last', what: 'the finalizer began with an item open', on: 'finished', sql: [`update pawl.items set status = 'pending' where run_id = $1 and (kind = 'finalize' or seq = 2)`] },
  { name: 'one-finalizer-last', what: 'an item ended after the finalizer was made', on: 'finished', sql: [`update pawl.items set finished_at = clock_timestamp() + interval '1 minute' where run_id = $1 and seq = 2`] },
  { name: 'undone-newest-first', what: 'undos went oldest first', on: 'compensated', sql: ['update pawl.actions set order_no = -order_no where run_id = $1 and undoes is not null'] },
  { name: 'undone-newest-first', what: 'a write was undone twice', on: 'compensated', sql: [`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, undoes, settled_by)
    select run_id, item_seq, key || '2', tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, undoes, settled_by from pawl.actions where run_id = $1 and undoes is not null limit 1`] },
  { name: 'compensated-means-undone', what: 'a compensated run has a standing write', on: 'compensated', sql: [`update pawl.runs set status = 'compensated' where id = $1`] },
  { name: 'compensated-means-undone', what: 'a write counts as undone without an undo', on: 'compensated', sql: ['delete from pawl.actions where run_id = $1 and undoes is not null'] },
  { name: 'compensated-means-undone', what: 'an undo was committed and its write stands', on: 'compensated', sql: [`update pawl.actions set status = 'committed' where run_id = $1 and status = 'compensated'`] },
  { name: 'compensated-means-undone', what: 'residue is not listed', on: 'compensated', sql: [`update pawl.events set data = data || '{"residue": 0}' where run_id = $1 and kind = 'run.ended'`] },
  { name: 'no-intent-after-stop', what: 'a forward intent in a compensating run', on: 'compensated', sql: [`update pawl.actions set started_at = clock_timestamp() where run_id = $1 and undoes is null`, `delete from pawl.events where run_id = $1 and kind = 'run.ended'`] },
  { name: 'sent-after-a-yes', what: 'a call that asked was sent without a yes', on: 'finished', sql: [`insert into pawl.approvals (run_id, action_id, item_seq, tool, tool_version, args_digest, digest, expires_at)
    select run_id, id, item_seq, tool, tool_version, args_digest, 'd', clock_timestamp() from pawl.actions where run_id = $1 and item_seq = 2`, 'update pawl.actions set approval_id = (select max(id) from pawl.approvals) where run_id = $1 and item_seq = 2'] },
  { name: 'pins-keep', what: 'an attempt ran under another version than the one before', on: 'finished', sql: [`update pawl.attempts set agent_version = '9' where run_id = $1 and item_seq = 2`] },
  { name: 'pins-keep', what: 'a run was moved and nobody said so', on: 'finished', sql: [`update pawl.runs set agent_version = '9' where id = $1`] },
  { name: 'ended-rows-keep', what: 'an ended item holds a lease', on: 'finished', sql: ['update pawl.items set lease_until = clock_timestamp() where run_id = $1 and seq = 2'] },
  { name: 'ended-rows-keep', what: 'the guard of ended rows is off', on: 'finished', sql: ['alter table pawl.items disable trigger keep_ended_items'] },
  { name: 'due-is-rung-for', what: 'a due item nobody rang for', on: 'finished', sql: [`update pawl.runs set status = 'running', started_at = started_at - interval '1 hour' where id = $1`, `update pawl.items set status = 'pending', dispatched_at = null, available_at = clock_timestamp() - interval '10 minutes' where run_id = $1 and seq = 2`] },
  { name: 'doubt-needs-proof', what: 'failed with a send that is not proved', on: 'finished', sql: [`update pawl.actions set status = 'failed' where run_id = $1 and item_seq = 2`] },
  { name: 'doubt-needs-proof', what: 'a person’s answer nobody gave', on: 'finished', sql: [`update pawl.actions set settled_by = 'person:eve' where run_id = $1 and item_seq = 2`] },
  { name: 'doubt-needs-proof', what: 'evidence that is not there', on: 'finished', sql: [`update pawl.actions set settled_by = 'evidence' where run_id = $1 and item_seq = 2`] },
  { name: 'doubt-needs-proof', what: 'abandoned by no person', on: 'finished', sql: [`update pawl.actions set status = 'abandoned' where run_id = $1 and item_seq = 2`] },
  { name: 'doubt-needs-proof', what: 'a doubt a worker resolved', on: 'finished', sql: [`insert into pawl.events (run_id, kind, actor, data) select run_id, 'action.in_doubt', 'pawl', jsonb_build_object('action', id) from pawl.actions where run_id = $1 and item_seq = 2`] },
]

test('every invariant has a corruption that it names', () => {
  expect(new Set(corruptions.map((one) => one.name))).toEqual(new Set(invariants.map((one) => one.name)))
})

test('the audit names each corruption, in its run only', async () => {
  const other = await finishedRun()
  const ids = { finished: (await finishedRun()).runId, compensated: await compensatedRun() }
  expect(await names()).toEqual([])
  for (const { name, what, on, sql } of corruptions) {
    const session = stage.session()
    // Undone again by a rollback, so that each corruption is alone; the audit looks through the same connection.
    await session.query('begin')
    await session.query(`set local pawl.reopens = 'on'`)
    for (const statement of sql) await session.query(statement, statement.includes('$1') ? [ids[on]] : [])
    const found: string[] = []
    for (const one of invariants) if ((await session.query(one.sql, [null])).length > 0) found.push(one.name)
    expect(found, what).toContain(name)
    if (name !== 'ended-rows-keep') {
      for (const one of invariants) expect(await session.query(one.sql, [other.runId]), `${what}: ${one.name} of another run`).toEqual([])
    }
    await session.query('rollback')
  }
  expect(await names()).toEqual([])
}, 120_000)

test('the report carries number, name, sentence and rows, and can be asked of one run', async () => {
  const { runId } = await finishedRun()
  const clean = await finishedRun()
  await stage.rows('update pawl.runs set items_total = 9 where id = $1', [runId])
  expect((await auditLedger(stage.ledger, { runId })).violations).toEqual([
    { invariant: 11, name: 'counters-equal-counts', sentence: 'Counters equal what they count.', rows: [{ run_id: runId, counter: 'items_total', says: 9, counted: 4 }] }])
  expect(await names(clean.runId)).toEqual([])
  expect((await actionNow(stage, runId, `twice-${runId}`)).refused).toBe(1)
})
