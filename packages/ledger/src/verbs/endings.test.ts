import { newId, newRunId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actionNow, claim, committed, completionOf, finishOne, flushOne, intentOf, itemNow, newRun, openStage, runOf, started, type Claimed, type Stage } from '../stage.testsuite.ts'
import { listUnsettled, nextToUndo, readRun, tallyRun } from './compensation.ts'
import { auditLedger } from '../audit/audit-ledger.ts'
import { advanceRun, takeDueItems } from './dispatch.ts'
import { appendItems, cancelRun, closeCompensation, closeRun, compensateByPolicy, openSplitStream, pauseRun, resumeRun, sealRun, startCompensation, startRun } from './runs.ts'
import { addEvidence, answerDoubt, rearmAction, settleAction } from './settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const kindOf = (runId: string, kind: string): Promise<number> => stage.value('select seq from pawl.items where run_id = $1 and kind = $2 order by seq desc limit 1', [runId, kind])
const endings = (runId: string): Promise<unknown[]> => stage.rows(`select data ->> 'status' as status, (data ->> 'ending')::int as ending from pawl.events where run_id = $1 and kind = 'run.ended' order by id`, [runId])

async function finalizer(runId: string): Promise<Claimed> {
  expect((await advanceRun(stage.ledger, runId)).made).toBe(true)
  return await claim(stage, runId, await kindOf(runId, 'finalize'))
}

test('cancel moves every live item out of reach, the one a worker is just claiming included (hole 2)', async () => {
  const runId = await runOf(stage, 3)
  const held = await claim(stage, runId, 1)
  const claimer = stage.session()
  await claimer.query('begin')
  await claimer.query('select * from pawl.claim_items($1, $2, $3, $4, $5, 15000, 5, 2, false)', [`{${runId}}`, '{2}', '{NULL}', newId(), newId()])
  const cancelling = cancelRun(stage.another({ name: 'canceller' }), runId, 'ann', 'wrong list')
  await stage.waits('canceller')
  await claimer.query('commit')
  expect(await cancelling).toEqual({ outcome: 'cancelled', status: 'cancelled', unsettled: 0 })
  expect(await stage.rows(`select seq, status, epoch from pawl.items where run_id = $1 order by seq`, [runId])).toEqual([
    { seq: 1, status: 'cancelled', epoch: 2 }, { seq: 2, status: 'cancelled', epoch: 2 }, { seq: 3, status: 'cancelled', epoch: 1 }])
  const late = await flushOne(stage.ledger, held, { intents: [intentOf('late')] })
  expect([late.locked.size, late.intended.size]).toEqual([0, 0])
  expect(await endings(runId)).toEqual([{ status: 'cancelled', ending: 1 }])
  expect(await cancelRun(stage.ledger, runId, 'ann', null)).toMatchObject({ outcome: 'wrong_state' })
  expect((await cancelRun(stage.ledger, newRunId(), 'ann', null)).outcome).toBe('missing')
})

test('an intent that commits while cancel waits for its item is counted as unsettled and gets a settle item of its own epoch (hole 33)', async () => {
  const runId = await runOf(stage, 1)
  const holder = await claim(stage, runId, 1)
  const flushing = stage.session()
  await flushing.query('begin')
  await flushing.query('select 1 from pawl.items where run_id = $1 and seq = 1 for update', [runId])
  const intent = intentOf('k')
  await flushing.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, token, args, args_digest, timeout_ms, settle_ms)
    values ($1, 1, 'k', 't', '1', 'non-idempotent', 'started', 1, $2, '{}', 'd', 1, 1)`, [runId, intent.token])
  const cancelling = cancelRun(stage.another({ name: 'cancels-late' }), runId, 'ann', null)
  await stage.waits('cancels-late')
  await flushing.query('commit')
  expect((await cancelling).unsettled).toBe(1)
  expect((await flushOne(stage.ledger, holder, { completions: [completionOf(intent)] })).locked.size).toBe(0)
  expect((await takeDueItems(stage.ledger, runId)).taken.map((item) => item.kind)).toEqual(['settle'])
  const settler = await claim(stage, runId, await kindOf(runId, 'settle'))
  expect((await listUnsettled(stage.ledger, runId)).map((action) => action.key)).toEqual(['k'])
  expect(await settleAction(stage.ledger, settler, 'k', { verdict: 'applied', result: '1', by: 'verify' })).toMatchObject({ status: 'committed', item_seq: 1 })
  await finishOne(stage, settler)
  expect(await readRun(stage.ledger, runId)).toMatchObject({ status: 'cancelled' }) // never revived
  expect((await advanceRun(stage.ledger, runId)).status).toBe('cancelled')
})

test('pause and resume change the flag once, each with its event; an ended run cannot be paused', async () => {
  const runId = await runOf(stage, 1)
  for (let n = 0; n < 2; n++) expect(await pauseRun(stage.ledger, runId, 'ann')).toEqual({ outcome: 'paused', status: 'running' })
  expect(await takeDueItems(stage.ledger, runId)).toEqual({ taken: [], live: true, more: false })
  expect(await resumeRun(stage.ledger, runId, 'ann')).toEqual({ outcome: 'resumed', status: 'running', reopened: 0 })
  expect((await takeDueItems(stage.ledger, runId)).taken).toHaveLength(1)
  expect(await stage.value(`select string_agg(kind, ',' order by id) from pawl.events where run_id = $1`, [runId])).toBe('run.created,run.sealed,run.paused,run.resumed')
  await cancelRun(stage.ledger, runId, 'ann', null)
  expect((await pauseRun(stage.ledger, runId, 'ann')).outcome).toBe('wrong_state')
  expect((await pauseRun(stage.ledger, newRunId(), 'ann')).outcome).toBe('missing')
})

test('the finalizer closes the run and itself at once, or neither; an open call of its keeps it open; a lost answer reads as fenced and ends nothing twice', async () => {
  const runId = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, runId, 1))
  const by = await finalizer(runId)
  const call = await started(stage, by, 'summary')
  const ending = { status: 'completed', result: '"sum"', error: null }
  expect(await closeRun(stage.ledger, by, ending)).toBe('open')
  await flushOne(stage.ledger, by, { completions: [completionOf(call)] })
  expect(await closeRun(stage.ledger, { ...by, epoch: 0 }, ending)).toBe('fenced')
  expect(await closeRun(stage.ledger, by, ending)).toBe('closed')
  expect(await closeRun(stage.ledger, by, ending)).toBe('fenced')
  expect(await readRun(stage.ledger, runId)).toMatchObject({ status: 'completed', result: '"sum"' })
  expect(await itemNow(stage, by)).toMatchObject({ status: 'done' })
  expect(await endings(runId)).toEqual([{ status: 'completed', ending: 1 }])
})

test('a resumed run runs its failed items again and gets a finalizer of its own ending, with another key (hole 34)', async () => {
  const runId = await runOf(stage, 3)
  await finishOne(stage, await claim(stage, runId, 1))
  for (const seq of [2, 3]) await finishOne(stage, await claim(stage, runId, seq), 'failed', { error: '"e"', isFailure: true })
  expect(await tallyRun(stage.ledger, runId)).toEqual({ done: 1, failed: 2, cancelled: 0, total: 3 })
  await closeRun(stage.ledger, await finalizer(runId), { status: 'completed_with_failures', result: null, error: null })
  expect(await resumeRun(stage.ledger, runId, 'ann')).toEqual({ outcome: 'resumed', status: 'running', reopened: 2 })
  expect(await itemNow(stage, { runId, seq: 1 })).toMatchObject({ status: 'done' })
  expect(await itemNow(stage, { runId, seq: 2 })).toMatchObject({ status: 'pending', failures: 0, barren_attempts: 0 })
  for (const seq of [2, 3]) await finishOne(stage, await claim(stage, runId, seq))
  const again = await finalizer(runId)
  expect(again.answer.item?.key).toBe('finalize-2')
  expect(await closeRun(stage.ledger, again, { status: 'completed', result: null, error: null })).toBe('closed')
  expect(await endings(runId)).toEqual([{ status: 'completed_with_failures', ending: 1 }, { status: 'completed', ending: 2 }])
  expect((await resumeRun(stage.ledger, runId, 'ann')).outcome).toBe('wrong_state')
})

test('a failed split fails the run, a failed finalizer too; both can be resumed', async () => {
  const run = newRun({ split: true })
  await startRun(stage.ledger, run)
  await finishOne(stage, await claim(stage, run.id, 0), 'failed', { error: '"no list"' })
  expect(await advanceRun(stage.ledger, run.id)).toEqual({ status: 'failed', made: false })
  expect(await readRun(stage.ledger, run.id)).toMatchObject({ status: 'failed', error: '"no list"' })
  expect(await resumeRun(stage.ledger, run.id, 'ann')).toMatchObject({ status: 'splitting', reopened: 1 })
  const runId = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, runId, 1))
  await finishOne(stage, await finalizer(runId), 'failed', { error: '"sum"' })
  for (let n = 0; n < 2; n++) expect(await advanceRun(stage.ledger, runId)).toEqual({ status: 'failed', made: false })
  expect(await endings(runId)).toEqual([{ status: 'failed', ending: 1 }])
  expect(await resumeRun(stage.ledger, runId, 'ann')).toMatchObject({ status: 'running', reopened: 0 })
  // It never closed its run: it goes on itself, with the journal of what it sent.
  expect((await finalizer(runId)).answer.item).toMatchObject({ key: 'finalize-1', failures: 0 })
})

test('what a cancelled finalizer left unsettled it settles itself once the run is resumed, for an ended item has no holder (hole 33)', async () => {
  const runId = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, runId, 1))
  await started(stage, await finalizer(runId), 'summary')
  expect((await cancelRun(stage.ledger, runId, 'ann', null)).unsettled).toBe(1)
  await resumeRun(stage.ledger, runId, 'ann')
  const again = await finalizer(runId)
  expect(again.answer.item?.key).toBe('finalize-1')
  expect(again.journal.map((action) => [action.key, action.status])).toEqual([['summary', 'started']])
  expect(await closeRun(stage.ledger, again, { status: 'completed', result: null, error: null })).toBe('open')
  expect(await settleAction(stage.ledger, again, 'summary', { verdict: 'applied', result: '1', by: 'verify' })).toMatchObject({ status: 'committed', item_seq: again.seq })
  expect(await closeRun(stage.ledger, again, { status: 'completed', result: null, error: null })).toBe('closed')
  expect((await auditLedger(stage.ledger, { runId })).violations).toEqual([])
})

test('ended items cannot change, by any column, but through the verbs that reopen them', async () => {
  const runId = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, runId, 1), 'done', { result: '1' })
  for (const change of [`status = 'pending'`, `result = '2'`, `epoch = epoch + 1`, `status = 'cancelled'`]) {
    await expect(stage.rows(`update pawl.items set ${change} where run_id = $1`, [runId])).rejects.toMatchObject({ code: 'PW001' })
  }
  expect(await itemNow(stage, { runId, seq: 1 })).toMatchObject({ status: 'done', result: '1' })
})

test('compensation settles first, then undoes newest first, one undo per write, and lists what stands as residue', async () => {
  const runId = await runOf(stage, 3)
  const one = await claim(stage, runId, 1)
  await committed(stage, one, 'a', { undo: '{"u":"a"}' })
  const two = await claim(stage, runId, 2)
  await committed(stage, two, 'b', { undo: '{"u":"b"}' })
  await committed(stage, two, 'mail')
  await committed(stage, two, 'look', { effect: 'read', undo: '{"u":"never"}' })
  await finishOne(stage, one)
  await started(stage, await claim(stage, runId, 3), 'flying', { undo: '{"u":"flying"}' })
  expect(await startCompensation(stage.ledger, runId, 'ann', 'wrong price')).toEqual({ outcome: 'started', status: 'compensating' })
  expect((await cancelRun(stage.ledger, runId, 'ann', null)).outcome).toBe('wrong_state')
  const by = await claim(stage, runId, await kindOf(runId, 'compensate'))
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'open', residue: null })
  // Settled by the compensate item, whose own epoch is the fence; the action stays its item's.
  expect(await settleAction(stage.ledger, by, 'flying', { verdict: 'applied', by: 'verify' })).toMatchObject({ status: 'committed', item_seq: 3 })
  const undone: string[] = []
  for (;;) {
    const next = await nextToUndo(stage.ledger, runId)
    if (!next) break
    expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'open', residue: null })
    await committed(stage, by, `undo:${next.key}`, { undoes: next.id })
    expect((await actionNow(stage, runId, next.key)).status).toBe('compensated')
    undone.push(next.key)
  }
  expect(undone).toEqual(['flying', 'b', 'a'])
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'closed', residue: 1 })
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'fenced', residue: null })
  expect(await readRun(stage.ledger, runId)).toMatchObject({ status: 'compensated_with_residue' })
  expect(await stage.rows(`select distinct status from pawl.items where run_id = $1 and kind = 'work'`, [runId])).toEqual([{ status: 'compensated' }])
  expect(await endings(runId)).toEqual([{ status: 'compensated_with_residue', ending: 2 }])
})

test('undo goes by the order of the last send: a call sent again after others is undone before them', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const first = await started(stage, by, 'first', { undo: '{}' })
  await flushOne(stage.ledger, by, { completions: [completionOf(first, { outcome: 'refused', result: null })] })
  await committed(stage, by, 'second', { undo: '{}' })
  const again = await rearmAction(stage.ledger, by, 'first', newId(), '1', 0)
  await flushOne(stage.ledger, by, { completions: [completionOf({ key: 'first', token: again.action!.token! })] })
  expect((await nextToUndo(stage.ledger, runId))?.key).toBe('first')
})

test('an undo a person abandoned is residue: the rest goes on and the run closes', async () => {
  const runId = await runOf(stage, 1)
  await committed(stage, await claim(stage, runId, 1), 'a', { undo: '{}' })
  await startCompensation(stage.ledger, runId, 'ann', null)
  const by = await claim(stage, runId, await kindOf(runId, 'compensate'))
  const write = await actionNow(stage, runId, 'a')
  await started(stage, by, 'undo:a', { undoes: write.id })
  const doubt = await settleAction(stage.ledger, by, 'undo:a', { verdict: 'in_doubt', by: 'worker' })
  expect((await answerDoubt(stage.ledger, runId, doubt!.id, { attempt: 1, evidence: 0, answer: 'abandon', actor: 'ann' })).outcome).toBe('answered')
  expect(await nextToUndo(stage.ledger, runId)).toBeUndefined()
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'closed', residue: 1 })
})

test('an undo settled by a person, by evidence or by verify marks its write compensated', async () => {
  for (const how of ['person', 'evidence', 'verify'] as const) {
    const runId = await runOf(stage, 1)
    await committed(stage, await claim(stage, runId, 1), 'a', { undo: '{}' })
    await startCompensation(stage.ledger, runId, 'ann', null)
    const by = await claim(stage, runId, await kindOf(runId, 'compensate'))
    await started(stage, by, 'undo:a', { undoes: (await actionNow(stage, runId, 'a')).id })
    if (how === 'verify') await settleAction(stage.ledger, by, 'undo:a', { verdict: 'applied', by: how })
    else {
      const doubt = await settleAction(stage.ledger, by, 'undo:a', { verdict: 'in_doubt', by: 'worker' })
      if (how === 'evidence') await addEvidence(stage.ledger, runId, 'undo:a', { entry: '1', result: '1' })
      else await answerDoubt(stage.ledger, runId, doubt!.id, { attempt: 1, evidence: 0, answer: 'happened', actor: 'ann' })
    }
    expect((await actionNow(stage, runId, 'a')).status).toBe('compensated')
    expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'closed', residue: 0 })
  }
})

test('a finalizer that lost its item compensates nothing: not the run that was resumed meanwhile, nor the one that completed', async () => {
  const runId = await runOf(stage, 1, { policy: { onFailure: 'compensate' } })
  await finishOne(stage, await claim(stage, runId, 1), 'failed', { error: '"e"', isFailure: true })
  const zombie = await finalizer(runId)
  expect(await compensateByPolicy(stage.ledger, { ...zombie, epoch: zombie.epoch - 1 }, 'late')).toBe('fenced')
  await cancelRun(stage.ledger, runId, 'ann', null)
  await resumeRun(stage.ledger, runId, 'ann')
  expect(await compensateByPolicy(stage.ledger, zombie, 'late')).toBe('fenced')
  await finishOne(stage, await claim(stage, runId, 1))
  const next = await finalizer(runId)
  expect(await compensateByPolicy(stage.ledger, zombie, 'late')).toBe('fenced')
  await closeRun(stage.ledger, next, { status: 'completed', result: null, error: null })
  expect(await compensateByPolicy(stage.ledger, zombie, 'late')).toBe('fenced')
  expect(await readRun(stage.ledger, runId)).toMatchObject({ status: 'completed' })

  const other = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, other, 1), 'failed', { error: '"e"', isFailure: true })
  expect(await compensateByPolicy(stage.ledger, await finalizer(other), '1 of 1 items failed')).toBe('started')
  expect(await readRun(stage.ledger, other)).toMatchObject({ status: 'compensating' })
})

test('a run cancelled after its seal and resumed is not split again, though its split item had not finished: what is done stays', async () => {
  const run = newRun({ split: true })
  await startRun(stage.ledger, run)
  const split = await claim(stage, run.id, 0)
  const stream = (await openSplitStream(stage.ledger, split))!
  await appendItems(stage.ledger, run.id, stream, ['a', 'b'].map((key) => ({ key, payload: '1' })))
  await sealRun(stage.ledger, run.id, stream, null)
  await finishOne(stage, await claim(stage, run.id, 1))
  await cancelRun(stage.ledger, run.id, 'ann', null)
  expect(await resumeRun(stage.ledger, run.id, 'ann')).toEqual({ outcome: 'resumed', status: 'running', reopened: 2 })
  expect(await openSplitStream(stage.ledger, await claim(stage, run.id, 0))).toBeNull()
  expect(await stage.rows(`select key, status from pawl.items where run_id = $1 and kind = 'work' order by seq`, [run.id])).toEqual([{ key: 'a', status: 'done' }, { key: 'b', status: 'pending' }])
})

test('a split that fails for good fails the run though it had brought items, and these are no live items of an ended run', async () => {
  const run = newRun({ split: true })
  await startRun(stage.ledger, run)
  const split = await claim(stage, run.id, 0)
  await appendItems(stage.ledger, run.id, (await openSplitStream(stage.ledger, split))!, [{ key: 'a', payload: '1' }])
  expect((await takeDueItems(stage.ledger, run.id)).live).toBe(true)
  await finishOne(stage, split, 'failed', { error: '"no list"' })
  expect(await takeDueItems(stage.ledger, run.id)).toEqual({ taken: [], live: false, more: false })
  expect(await advanceRun(stage.ledger, run.id)).toEqual({ status: 'failed', made: false })
  expect(await itemNow(stage, { runId: run.id, seq: 1 })).toMatchObject({ status: 'cancelled' })
  expect(await resumeRun(stage.ledger, run.id, 'ann')).toMatchObject({ status: 'splitting', reopened: 2 })
  const again = await claim(stage, run.id, 0)
  const stream = (await openSplitStream(stage.ledger, again))!
  await appendItems(stage.ledger, run.id, stream, [{ key: 'a', payload: '1' }])
  expect(await sealRun(stage.ledger, run.id, stream, null)).toEqual({ outcome: 'sealed', total: 1 })
})

test('a compensation does not close over a write recorded failed whose proof came later', async () => {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  await started(stage, by, 'k', { undo: '{}' })
  const doubt = await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'worker' })
  await answerDoubt(stage.ledger, runId, doubt!.id, { attempt: 1, evidence: 0, answer: 'did_not', actor: 'ann' })
  expect(await addEvidence(stage.ledger, runId, 'k', { entry: '1', result: '1' })).toBe('failed')
  await startCompensation(stage.ledger, runId, 'ann', null)
  const compensator = await claim(stage, runId, await kindOf(runId, 'compensate'))
  expect(await closeCompensation(stage.ledger, compensator)).toEqual({ outcome: 'open', residue: null })
  expect((await listUnsettled(stage.ledger, runId)).map((action) => action.key)).toEqual(['k'])
  expect(await settleAction(stage.ledger, compensator, 'k', { verdict: 'applied', by: 'evidence' })).toMatchObject({ status: 'committed' })
  expect((await nextToUndo(stage.ledger, runId))?.key).toBe('k')
})
