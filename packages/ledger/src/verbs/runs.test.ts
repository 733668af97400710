import { newRunId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, newRun, openStage, runOf, type Stage } from '../stage.testsuite.ts'
import { advanceRun, takeDueItems } from './dispatch.ts'
import { appendItems, dropStream, listAbandonedStreams, openSplitStream, openStream, sealRun, startRun, cancelRun, resumeRun } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const oddKeys = ['NULL', 'null', '{}', '{a,b}', '"', '\\', '\\"', "it's", 'a,b', ' lead and trail ', '', 'line\nbreak', 'tab\t', '🦉 emoji', 'ÄÖ', 'x'.repeat(300), '%s $1', '--; drop table', "'||'", '\u0001', '\u2028', '\\x41', '\\N']

async function openRun(given = {}): Promise<{ runId: string; stream: number }> {
  const run = newRun(given)
  await startRun(stage.ledger, run)
  return { runId: run.id, stream: (await openStream(stage.ledger, run.id, 60_000))! }
}

test('starting twice with one key is one run, and the second is told which and with what digest', async () => {
  const first = newRun({ key: 'order-7', digest: 'd1', split: true })
  expect(await startRun(stage.ledger, first)).toEqual({ outcome: 'created', run_id: first.id, digest: 'd1', status: 'splitting' })
  expect(await startRun(stage.ledger, newRun({ key: 'order-7', digest: 'd2', split: true }))).toEqual({ outcome: 'exists', run_id: first.id, digest: 'd1', status: 'splitting' })
  expect((await startRun(stage.ledger, newRun({ key: 'order-7', namespace: 'other' }))).outcome).toBe('created')
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1', [first.id])).toBe(1)
})

test('of ten concurrent starts with one key one creates the run and nine are told its id', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => startRun(stage.ledger, newRun({ key: 'race', digest: 'd' }))))
  expect(answers.filter((answer) => answer.outcome === 'created')).toHaveLength(1)
  expect(new Set(answers.map((answer) => answer.run_id)).size).toBe(1)
})

test('a start that waits for another start of the same key gets its run, and creates its own when the other is rolled back', async () => {
  for (const end of ['commit', 'rollback']) {
    const other = stage.session()
    await other.query('begin')
    const theirs = newRunId()
    await other.query(`select pawl.start_run($1, 'wait', '${end}', 'd', 'a', '1', null, null, 1, null, '{}', '{}', '{}', 'x', false)`, [theirs])
    const mine = newRun({ key: end, namespace: 'wait' })
    const starting = startRun(stage.another({ name: `start-${end}` }), mine)
    await stage.waits(`start-${end}`)
    await other.query(end)
    expect((await starting).run_id).toBe(end === 'commit' ? theirs : mine.id)
  }
})

test('a start whose key is being freed by a dropped stream creates the run', async () => {
  const { runId, stream } = await openRun({ key: 'freed', digest: null })
  const dropper = stage.session()
  await dropper.query('begin')
  await dropper.query('select pawl.drop_stream($1, $2)', [runId, stream])
  const next = newRun({ key: 'freed' })
  const starting = startRun(stage.another({ name: 'start-freed' }), next)
  await stage.waits('start-freed')
  await dropper.query('commit')
  expect(await starting).toMatchObject({ outcome: 'created', run_id: next.id })
})

test('labels, policy, event data and serves are JSON objects in their jsonb columns, not strings (case 60)', async () => {
  const run = newRun({ labels: { team: 'a"b' }, policy: { maxConcurrency: 2, onFailure: 'complete' } })
  await startRun(stage.ledger, run)
  expect(await stage.rows(`select jsonb_typeof(labels) as labels, jsonb_typeof(policy) as policy, labels ->> 'team' as team, (policy ->> 'maxConcurrency')::int as most from pawl.runs where id = $1`, [run.id]))
    .toEqual([{ labels: 'object', policy: 'object', team: 'a"b', most: 2 }])
  await runOf(stage, 1)
  expect(await stage.rows(`select distinct jsonb_typeof(data) as type from pawl.events`)).toEqual([{ type: 'object' }])
})

test('item keys and payloads of every odd shape come back unchanged', async () => {
  const { runId, stream } = await openRun()
  expect((await appendItems(stage.ledger, runId, stream, oddKeys.map((key) => ({ key, payload: JSON.stringify({ key }) })))).outcome).toBe('added')
  expect(await sealRun(stage.ledger, runId, stream, null)).toEqual({ outcome: 'sealed', total: oddKeys.length })
  const rows = await stage.rows<{ key: string; payload: string }>('select key, payload from pawl.items where run_id = $1 order by seq', [runId])
  expect(rows.map((row) => row.key)).toEqual(oddKeys)
  expect(rows.map((row) => (JSON.parse(row.payload) as { key: string }).key)).toEqual(oddKeys)
  const taken = await takeDueItems(stage.ledger, runId)
  expect(taken.taken.map((item) => item.key)).toEqual(oddKeys)
})

test('20,000 items are appended whole, in order, each once', async () => {
  const { runId, stream } = await openRun()
  for (let from = 0; from < 20_000; from += 5_000) {
    const chunk = Array.from({ length: 5_000 }, (_, i) => ({ key: `k${from + i}`, payload: `${from + i}` }))
    expect((await appendItems(stage.ledger, runId, stream, chunk)).outcome).toBe('added')
  }
  expect(await sealRun(stage.ledger, runId, stream, null)).toEqual({ outcome: 'sealed', total: 20_000 })
  expect(await stage.rows(`select count(*)::int as n, count(distinct seq)::int as seqs, bool_and(key = 'k' || (seq - 1)) as ordered from pawl.items where run_id = $1`, [runId]))
    .toEqual([{ n: 20_000, seqs: 20_000, ordered: true }])
})

test('a key twice in one chunk, or in two chunks of one stream, is named, and its chunk leaves nothing', async () => {
  const { runId, stream } = await openRun({ key: 'dup', namespace: 'dup' })
  expect(await appendItems(stage.ledger, runId, stream, ['a', 'b', 'a'].map((key) => ({ key, payload: '1' })))).toEqual({ outcome: 'duplicate', duplicates: ['a'] })
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1', [runId])).toBe(0)
  await appendItems(stage.ledger, runId, stream, [{ key: 'a', payload: '1' }])
  expect(await appendItems(stage.ledger, runId, stream, ['c', 'a'].map((key) => ({ key, payload: '1' })))).toEqual({ outcome: 'duplicate', duplicates: ['a'] })
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1', [runId])).toBe(1)
  expect(await dropStream(stage.ledger, runId, stream)).toBe(true)
  const left = await stage.rows(`select (select count(*)::int from pawl.runs where id = $1) + (select count(*)::int from pawl.items where run_id = $1)
    + (select count(*)::int from pawl.events where run_id = $1) + (select count(*)::int from pawl.run_keys where run_id = $1) as n`, [runId])
  expect(left).toEqual([{ n: 0 }])
  expect(await dropStream(stage.ledger, runId, stream)).toBe(false)
})

test('a stream in use is refused, a broken one is continued, and what only the broken one brought is not in the run', async () => {
  const { runId, stream } = await openRun()
  await appendItems(stage.ledger, runId, stream, ['a', 'b'].map((key) => ({ key, payload: 'old' })))
  expect(await openStream(stage.ledger, runId, 60_000)).toBe(0)
  const next = (await openStream(stage.ledger, runId, 0))!
  expect(next).toBe(2)
  expect((await appendItems(stage.ledger, runId, stream, [{ key: 'late', payload: '1' }])).outcome).toBe('closed')
  await appendItems(stage.ledger, runId, next, ['b', 'c'].map((key) => ({ key, payload: 'new' })))
  expect(await sealRun(stage.ledger, runId, stream, null)).toEqual({ outcome: 'closed', total: null })
  expect(await sealRun(stage.ledger, runId, next, 'sum')).toEqual({ outcome: 'sealed', total: 2 })
  expect(await stage.rows('select key, payload from pawl.items where run_id = $1 order by key', [runId])).toEqual([{ key: 'b', payload: 'new' }, { key: 'c', payload: 'new' }])
  expect(await openStream(stage.ledger, runId, 0)).toBeNull()
})

test('a lost answer to a seal: sealing the same stream again says sealed with the same total, another stream is closed', async () => {
  const { runId, stream } = await openRun()
  await appendItems(stage.ledger, runId, stream, [{ key: 'a', payload: '1' }])
  for (let n = 0; n < 2; n++) expect(await sealRun(stage.ledger, runId, stream, 'd')).toEqual({ outcome: 'sealed', total: 1 })
  expect(await sealRun(stage.ledger, runId, stream + 1, 'd')).toEqual({ outcome: 'closed', total: null })
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'run.sealed'`, [runId])).toBe(1)
})

test('a late chunk of producer A against the seal by B is counted or refused, never unseen (hole 26)', async () => {
  // Naively the seal counts in its own snapshot while the chunk is not yet committed.
  const naive = await openRun()
  const chunk = stage.session()
  await chunk.query('begin')
  await chunk.query(`insert into pawl.items (run_id, seq, kind, key, payload) values ($1, 1, 'work', 'late', '1')`, [naive.runId])
  const [counted] = await stage.rows<{ items_total: number }>(`update pawl.runs set status = 'running', items_total = (select count(*) from pawl.items where run_id = $1 and kind = 'work') where id = $1 returning items_total`, [naive.runId])
  await chunk.query('commit')
  expect(counted?.items_total).toBe(0)
  expect(await stage.value('select count(*)::int from pawl.items where run_id = $1', [naive.runId])).toBe(1)

  const { runId, stream } = await openRun()
  const producer = stage.session()
  await producer.query('begin')
  await producer.query(`select pawl.append_items($1, $2, '{late}', '{1}')`, [runId, stream])
  const sealing = sealRun(stage.another({ name: 'sealer' }), runId, stream, null)
  await stage.waits('sealer')
  await producer.query('commit')
  expect(await sealing).toEqual({ outcome: 'sealed', total: 1 })
})

test('a chunk that waited for the seal is refused (hole 26)', async () => {
  const { runId, stream } = await openRun()
  const sealer = stage.session()
  await sealer.query('begin')
  await sealer.query('select pawl.seal_run($1, $2, null)', [runId, stream])
  const late = appendItems(stage.another({ name: 'late-chunk' }), runId, stream, [{ key: 'late', payload: '1' }])
  await stage.waits('late-chunk')
  await sealer.query('commit')
  expect((await late).outcome).toBe('closed')
  expect(await stage.value(`select count(*)::int from pawl.items where run_id = $1`, [runId])).toBe(0)
})

test('a split that wakes late cannot bring items into the stream of the split that took over (hole 26)', async () => {
  const run = newRun({ split: true })
  await startRun(stage.ledger, run)
  const zombie = await claim(stage, run.id, 0)
  const first = (await openSplitStream(stage.ledger, zombie))!
  await appendItems(stage.ledger, run.id, first, [{ key: 'a', payload: 'old' }])
  await stage.rows(`update pawl.items set lease_until = clock_timestamp() - interval '1 s' where run_id = $1 and seq = 0`, [run.id])
  const holder = await claim(stage, run.id, 0)
  expect(await openSplitStream(stage.ledger, zombie)).toBeNull()
  const second = (await openSplitStream(stage.ledger, holder))!
  expect((await appendItems(stage.ledger, run.id, first, [{ key: 'z', payload: '1' }])).outcome).toBe('closed')
  expect((await sealRun(stage.ledger, run.id, first, null)).outcome).toBe('closed')
  await appendItems(stage.ledger, run.id, second, [{ key: 'a', payload: 'new' }])
  expect((await takeDueItems(stage.ledger, run.id)).taken).toEqual([]) // nothing is dispatched before the seal
  expect(await sealRun(stage.ledger, run.id, second, null)).toEqual({ outcome: 'sealed', total: 1 })
  expect(await openSplitStream(stage.ledger, holder)).toBeNull()
  expect(await dropStream(stage.ledger, run.id, second)).toBe(false)
})

test('a stream nobody continues is found, also one whose run was cancelled and resumed', async () => {
  const { runId } = await openRun()
  expect((await listAbandonedStreams(stage.ledger, 60_000)).map((one) => one.runId)).not.toContain(runId)
  await cancelRun(stage.ledger, runId, 'ann', null)
  expect((await listAbandonedStreams(stage.ledger, 0)).map((one) => one.runId)).not.toContain(runId)
  expect(await resumeRun(stage.ledger, runId, 'ann')).toMatchObject({ outcome: 'resumed', status: 'splitting' })
  await stage.rows(`update pawl.runs set stream_alive_at = stream_alive_at - interval '1 hour' where id = $1`, [runId])
  expect(await listAbandonedStreams(stage.ledger, 60_000)).toContainEqual({ runId, streamNo: 1 })
})

test('a sealed run without items goes straight to its finalizer', async () => {
  const runId = await runOf(stage, 0)
  expect(await advanceRun(stage.ledger, runId)).toEqual({ status: 'finalizing', made: true })
  expect(await advanceRun(stage.ledger, newRunId())).toEqual({ status: null, made: false })
})
