/** Old runs go as a whole, nothing that is needed goes, and what went is never done again. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../audit/audit-ledger.ts'
import { claim, completionOf, flushOne, intentOf, newRun, openStage, runOf, started, type Claimed, type Stage } from '../stage.testsuite.ts'
import { bringBackActions } from './bring-back.ts'
import { claimItems } from './claim-items.ts'
import { checkPrune, listOldRuns, pruneLeastAgeMs, pruneRun, type GiveUp, type OldRun, type PruneRequest } from './prune.ts'
import { appendItems, cancelRun, openStream, resumeRun, startCompensation, startRun } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const dayMs = 86_400_000
const tables = ['runs', 'items', 'actions', 'approvals', 'questions', 'turns', 'records', 'attempts'] as const

/** As if it had ended two days ago: age is a matter of the clock, which no test waits for. */
async function end(runId: string, status = 'completed', given: Readonly<Record<string, string>> = {}): Promise<void> {
  await stage.rows(`select set_config('pawl.reopens', 'on', false)`)
  await stage.rows(`update pawl.items set status = 'done', lease_until = null, worker_id = null, finished_at = clock_timestamp() - interval '2 days' where run_id = $1 and status in ('pending', 'in_progress', 'blocked')`, [runId])
  await stage.rows(`update pawl.runs set status = $2, created_at = clock_timestamp() - interval '3 days', finished_at = clock_timestamp() - interval '2 days' where id = $1`, [runId, status])
  await stage.rows(`insert into pawl.events (run_id, kind, actor, data) values ($1, 'run.ended', 'test', $2::jsonb)`, [runId, JSON.stringify({ ending: 1, status, ...given })])
}

/** A run with one committed call in each of its items. */
async function workedRun(items: number, given: Parameters<typeof newRun>[0] = {}, intent: Parameters<typeof intentOf>[1] = {}): Promise<{ runId: string; claimed: Claimed[]; keys: string[] }> {
  const runId = await runOf(stage, items, given)
  const claimed: Claimed[] = []
  const keys: string[] = []
  for (let seq = 1; seq <= items; seq++) {
    const by = await claim(stage, runId, seq)
    const key = `${runId}-${seq}`
    const sent = await started(stage, by, key, intent)
    await flushOne(stage.ledger, by, { completions: [completionOf(sent)], records: [{ name: 'r', value: '1' }] })
    claimed.push(by)
    keys.push(key)
  }
  return { runId, claimed, keys }
}

const request = (giveUp: readonly GiveUp[] = []) => ({ namespace: 'test', ageMs: dayMs, giveUp })
const prune = (runId: string, giveUp: readonly GiveUp[] = []) => pruneRun(stage.ledger, runId, request(giveUp), 'ann')
const rowsOf = (runId: string): Promise<number[]> => Promise.all(tables.map((table) => stage.value<number>(`select count(*)::int from pawl.${table} where ${table === 'runs' ? 'id' : 'run_id'} = $1`, [runId])))
async function listOf(asked: PruneRequest): Promise<OldRun[]> {
  const found: OldRun[] = []
  for await (const run of listOldRuns(stage.ledger, asked)) found.push(run)
  return found
}
const lookedAt = async (runId: string, giveUp: readonly GiveUp[] = []): Promise<OldRun | undefined> => (await listOf(request(giveUp))).find((run) => run.id === runId)

test('an old run goes with all its rows, and its key and one event stay: who did it, how it ended, a digest of its outcomes', async () => {
  const { runId } = await workedRun(2, { key: 'spring', digest: 'd1' })
  await end(runId)
  const other = await workedRun(1)
  await end(other.runId)
  expect(await lookedAt(runId)).toMatchObject({ id: runId, status: 'completed', items: 2, holds: [] })
  expect(await prune(runId)).toEqual({ outcome: 'pruned', holds: [] })
  expect(await rowsOf(runId)).toEqual(tables.map(() => 0))
  expect(await stage.rows('select kind, actor, data from pawl.events where run_id = $1', [runId])).toMatchObject([{
    kind: 'run.pruned', actor: 'ann', data: { namespace: 'test', agent: 'mailer', status: 'completed', items: 2, calls: { committed: 2 }, digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string, gaveUp: [] },
  }])
  expect(await prune(runId)).toEqual({ outcome: 'missing', holds: [] })
  expect((await rowsOf(other.runId))[1]).toBe(1)
})

describe('none of its keys can be sent again', () => {
  test('a start under its idempotency key finds the old run and makes none, another request is still a conflict', async () => {
    const { runId } = await workedRun(1, { key: 'once', digest: 'digest' })
    await end(runId)
    await prune(runId)
    const again = newRun({ key: 'once', digest: 'digest', split: true })
    expect(await startRun(stage.ledger, again)).toMatchObject({ outcome: 'exists', run_id: runId, digest: 'digest', status: null })
    expect(await rowsOf(again.id)).toEqual(tables.map(() => 0))
  })

  test('no verb brings it back: resume, compensate, cancel, a stream, a claim; a late worker writes nothing', async () => {
    const { runId, claimed: [late] } = await workedRun(1)
    await end(runId)
    await prune(runId)
    if (late === undefined) throw new Error('nobody claimed')
    expect((await resumeRun(stage.ledger, runId, 'ann')).outcome).toBe('missing')
    expect((await startCompensation(stage.ledger, runId, 'ann', null)).outcome).toBe('missing')
    expect((await cancelRun(stage.ledger, runId, 'ann', null)).outcome).toBe('missing')
    expect(await openStream(stage.ledger, runId, 0)).toBeNull()
    expect((await appendItems(stage.ledger, runId, 1, [{ key: 'x', payload: '1' }])).outcome).toBe('closed')
    const [claim] = await claimItems(stage.ledger, [{ runId, seq: 1, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 15_000, alone: false })
    expect(claim?.item ?? null).toBeNull()
    const answer = await flushOne(stage.ledger, late, { intents: [intentOf('late')] })
    expect([answer.intended.size, await rowsOf(runId)]).toEqual([0, tables.map(() => 0)])
  })

  test('a worker that remembers its calls after a failover does not take them for lost', async () => {
    const { runId, keys } = await workedRun(1)
    const [action] = await stage.ledger.query<{ row: Parameters<typeof bringBackActions>[1][number]['action'] }>('select row_to_json(a.*) as row from pawl.actions a where run_id = $1', [runId])
    if (action === undefined) throw new Error('no call')
    const remembered = [{ action: action.row, agoMs: 0, keyLeftMs: null }]
    await end(runId)
    await prune(runId)
    expect(await bringBackActions(stage.ledger, remembered)).toMatchObject([{ key: keys[0], outcome: 'kept' }])
    expect(await rowsOf(runId)).toEqual(tables.map(() => 0))
  })
})

describe('nothing that is still needed goes', () => {
  test('a run that is open or too young, whatever was given up', async () => {
    const all: GiveUp[] = ['undo', 'resume', 'residue']
    const open = await workedRun(1)
    expect(await prune(open.runId, all)).toMatchObject({ outcome: 'young' })
    const young = await workedRun(1)
    await end(young.runId)
    await stage.rows(`update pawl.runs set finished_at = clock_timestamp() - interval '23 hours' where id = $1`, [young.runId])
    expect([await prune(young.runId, all), await lookedAt(young.runId, all)]).toEqual([{ outcome: 'young', holds: [] }, undefined])
    expect((await rowsOf(young.runId))[0]).toBe(1)
  })

  const actionIs = (set: string) => async (runId: string) => { await stage.rows(`update pawl.actions set ${set} where run_id = $1`, [runId]) }
  test.each<[string, string, (runId: string) => Promise<unknown>]>([
    ['an item that settles a call after the end', 'open', (runId) => stage.rows(`insert into pawl.items (run_id, seq, kind, key, payload) values ($1, 99, 'settle', 'settle-99', 'null')`, [runId])],
    ['a call nobody knows the outcome of', 'unsettled', actionIs(`status = 'started'`)],
    ['a call in doubt', 'unsettled', actionIs(`status = 'in_doubt'`)],
    ['a call whose proof came after it was recorded as failed', 'unsettled', actionIs(`status = 'failed', applied_evidence = '1'`)],
    ['a call that is held back', 'unsettled', actionIs(`status = 'staged'`)],
    ['an open approval', 'person', (runId) => stage.rows(`insert into pawl.approvals (run_id, action_id, item_seq, tool, tool_version, args_digest, digest, expires_at) values ($1, 1, 1, 't', '1', 'd', 'd', clock_timestamp())`, [runId])],
    ['a key that its receiver still remembers', 'key', actionIs(`key_expires_at = clock_timestamp() + interval '1 minute'`)],
  ])('%s, even where everything is given up', async (_, hold, make) => {
    const { runId } = await workedRun(1)
    await end(runId)
    await make(runId)
    const before = await rowsOf(runId)
    const all: GiveUp[] = ['undo', 'resume', 'residue']
    expect((await lookedAt(runId, all))?.holds).toEqual([hold])
    expect(await prune(runId, all)).toEqual({ outcome: 'held', holds: [hold] })
    expect(await rowsOf(runId)).toEqual(before)
  })

  test.each<[string, GiveUp, string, (runId: string) => Promise<unknown>]>([
    ['an undo', 'undo', 'completed', actionIs(`undo = '{"tool":"x"}'`)],
    ['going on with it', 'resume', 'cancelled', () => Promise.resolve()],
    ['going on with it', 'resume', 'failed', () => Promise.resolve()],
    ['going on with it', 'resume', 'completed_with_failures', () => Promise.resolve()],
    ['the record of what stands', 'residue', 'compensated_with_residue', () => Promise.resolve()],
    ['the record of what was given up', 'residue', 'completed', actionIs(`status = 'abandoned', settled_by = 'person:ann'`)],
  ])('%s (%s), of a run that is %s: only where that is given up by name', async (_, giveUp, status, make) => {
    const { runId } = await workedRun(1)
    await end(runId, status)
    await make(runId)
    const others = (['undo', 'resume', 'residue'] as const).filter((each) => each !== giveUp)
    expect(await prune(runId, others)).toEqual({ outcome: 'held', holds: [giveUp] })
    expect(await prune(runId, [giveUp])).toEqual({ outcome: 'pruned', holds: [] })
  })

  test('what a run that failed held back, once going on with it is given up, and a question whose item has ended hold nothing', async () => {
    const held = await workedRun(1)
    await end(held.runId, 'failed')
    await actionIs(`status = 'staged'`)(held.runId)
    await stage.rows(`insert into pawl.questions (run_id, item_seq, key, question, answer_schema) values ($1, 1, 'q', '?', '{}')`, [held.runId])
    expect(await prune(held.runId)).toEqual({ outcome: 'held', holds: ['unsettled', 'resume'] })
    expect(await prune(held.runId, ['resume'])).toEqual({ outcome: 'pruned', holds: [] })
  })

  test('a key that has expired, an undo that was made, and one that was given up hold nothing', async () => {
    const expired = await workedRun(1, {}, { keyWindowMs: 1 })
    await end(expired.runId)
    const undone = await workedRun(1)
    await stage.rows(`update pawl.actions set undo = '{}', status = 'compensated' where run_id = $1`, [undone.runId])
    await end(undone.runId, 'compensated')
    expect([(await prune(expired.runId)).outcome, (await prune(undone.runId)).outcome]).toEqual(['pruned', 'pruned'])
  })
})

test('whoever resumes it at the same moment comes first and keeps it, or finds it gone', async () => {
  for (const first of ['resume', 'prune']) {
    const { runId } = await workedRun(1)
    await end(runId, 'cancelled')
    const session = stage.session()
    await session.query('begin')
    if (first === 'resume') await session.query(`select pawl.resume_run($1, 'bob')`, [runId])
    else await session.query(`select pawl.prune_run($1, 0, '{resume}', 'ann')`, [runId])
    const name = `prune-${first}`
    const other = stage.another({ name })
    const racing = first === 'resume' ? pruneRun(other, runId, request(['resume']), 'ann') : resumeRun(other, runId, 'bob')
    await stage.waits(name)
    await session.query('commit')
    expect((await racing).outcome).toBe(first === 'resume' ? 'young' : 'missing')
    expect((await rowsOf(runId))[0]).toBe(first === 'resume' ? 1 : 0)
  }
})

test('the list goes through every page, oldest first, one namespace and one agent at a time', async () => {
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    const { runId } = await workedRun(0, { namespace: 'pages', agent: i === 2 ? 'other' : 'mailer' })
    await end(runId)
    ids.push(runId)
  }
  await stage.rows(`insert into pawl.runs (id, namespace, agent, agent_version, input, status, created_by, created_at, finished_at)
    select gen_random_uuid(), 'pages', 'mailer', '1', '{}', 'completed', 't', clock_timestamp() - interval '9 days', clock_timestamp() - interval '8 days' from generate_series(1, 450)`)
  const found = await listOf({ ...request(), namespace: 'pages' })
  expect([found.length, new Set(found.map((run) => run.id)).size, found.slice(-3).map((run) => run.id)]).toEqual([453, 453, ids])
  expect(await listOf({ ...request(), namespace: 'pages', agent: 'other' })).toHaveLength(1)
})

test('the audit of a ledger that was pruned finds nothing missing', async () => {
  const { runId } = await workedRun(2, { key: 'audited', digest: 'd' })
  await end(runId)
  await prune(runId)
  expect((await auditLedger(stage.ledger, { runId })).violations).toEqual([])
  await stage.rows(`delete from pawl.events where run_id = $1`, [runId])
  expect((await auditLedger(stage.ledger, { runId })).violations.map((violation) => violation.name)).toEqual(['nothing-missing'])
})

test('a ledger that comes into question after it was looked at keeps the run all the same, and so does a run that ended within the hour', async () => {
  const { runId } = await workedRun(1)
  await end(runId)
  await checkPrune(stage.ledger, { ageMs: dayMs })
  const [row] = await stage.rows<{ timeline: string }>('select timeline from pawl.ledger')
  await stage.rows(`update pawl.ledger set timeline = '000000FF'`)
  expect(await prune(runId)).toEqual({ outcome: 'untrusted', holds: [] })
  await stage.rows('update pawl.ledger set timeline = $1, written_in = pawl.row_origin(pg_current_xact_id()::xid)', [row?.timeline ?? ''])
  await stage.rows(`update pawl.runs set finished_at = clock_timestamp() - interval '59 minutes' where id = $1`, [runId])
  expect(await pruneRun(stage.ledger, runId, { ageMs: 0, giveUp: [] }, 'ann')).toEqual({ outcome: 'young', holds: [] })
  expect((await rowsOf(runId))[1]).toBe(1)
})

test('less than an hour is refused, and so is a ledger whose history is in question', async () => {
  await expect(checkPrune(stage.ledger, { ageMs: pruneLeastAgeMs - 1 })).rejects.toMatchObject({ code: 'PRUNE_TOO_YOUNG' })
  await checkPrune(stage.ledger, { ageMs: pruneLeastAgeMs })
  const [row] = await stage.rows<{ timeline: string }>('select timeline from pawl.ledger')
  await stage.rows(`update pawl.ledger set timeline = '000000FF'`)
  await expect(checkPrune(stage.ledger, { ageMs: dayMs })).rejects.toMatchObject({ code: 'LEDGER_IN_QUESTION' })
  await stage.rows('update pawl.ledger set timeline = $1', [row?.timeline ?? ''])
})
