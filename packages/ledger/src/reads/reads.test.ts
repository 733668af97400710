import { newId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import { Ledger } from '../connect.ts'
import { migrateLedger } from '../migrate.ts'
import { withTransaction } from '../transaction.ts'
import { startWholeRun } from '../verbs/start-whole-run.ts'
import { countBacklog, countDoubts, countRuns } from './count-backlog.ts'
import { getRun, listRuns, readRunState } from './get-run.ts'
import { getAction, listActions } from './list-actions.ts'
import { listEvents } from './list-events.ts'
import { listInbox } from './list-inbox.ts'
import { getItem, listItems } from './list-items.ts'
import { readPreview } from './read-preview.ts'

let database: FreshDatabase
let ledger: Ledger
beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url })
  await migrateLedger(ledger)
})
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

/** A sealed run of `n` items. */
async function startOf(n: number, agent = 'a', namespace = 'default'): Promise<string> {
  const id = newId()
  await withTransaction(ledger, { timeoutMs: 10_000 }, (tx) => startWholeRun({ query: (text, values) => tx.query(text, values) }, {
    id, namespace, key: null, digest: null, agent, agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null,
    input: '1', labels: {}, policy: {}, createdBy: 'x', split: false,
  }, Array.from({ length: n }, (_, i) => ({ key: `k${i}`, payload: String(i) }))))
  return id
}

async function addAction(runId: string, itemSeq: number, status: string, more: { effect?: string; undo?: string | null; keyExpiresIn?: string; answerableIn?: string } = {}): Promise<number> {
  const [row] = await ledger.query<{ id: string }>(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, undo, timeout_ms, settle_ms, key_expires_at, answerable_at, evidence)
    values ($1, $2, $3, 't', '1', $4, $5, 1, '{}', 'd', $6, 1, 1, clock_timestamp() + $7::text::interval, clock_timestamp() + $8::text::interval, '{"\\"one, two\\"","{}"}') returning id`,
  [runId, itemSeq, newId(), more.effect ?? 'idempotent', status, more.undo ?? null, more.keyExpiresIn ?? null, more.answerableIn ?? null])
  return Number(row?.id)
}

const addMany = (runId: string, n: number, status: string, undo: string | null = null) =>
  ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, undo, timeout_ms, settle_ms)
    select $1, 1, $3 || i, 't', '1', 'idempotent', $2, 1, '{}', 'd', $4::text, 1, 1 from generate_series(1, $5::integer) as i`, [runId, status, newId(), undo, n])

const setItem = (runId: string, seq: number, status: string, reason: string | null = null) =>
  ledger.query('update pawl.items set status = $3, blocked_reason = $4 where run_id = $1 and seq = $2', [runId, seq, status, reason])

describe('a run', () => {
  test('counts its work by status and what is open of every kind', async () => {
    const id = await startOf(6)
    const seqs = (await listItems(ledger, id)).entries.map((item) => item.seq)
    const at = (i: number): number => seqs[i] ?? -1
    await setItem(id, at(0), 'done')
    await setItem(id, at(1), 'failed')
    await setItem(id, at(2), 'in_progress')
    await setItem(id, at(3), 'blocked', 'in_doubt')
    await setItem(id, at(4), 'blocked', 'key')
    await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status, blocked_reason) values ($1, 900, 'settle', 's', 'null', 'blocked', 'in_doubt')`, [id])
    expect(await getRun(ledger, id, null)).toMatchObject({
      tally: { total: 6, pending: 1, inProgress: 1, blocked: 2, done: 1, failed: 1, cancelled: 0, compensated: 0 },
      open: { pending: 1, inProgress: 1, blocked: 3 }, blockedReasons: { in_doubt: 2, key: 1 }, policy: { onFailure: 'hold' }, createdAt: expect.any(Date) as Date, finishedAt: null,
    })
    expect((await listItems(ledger, id, { status: 'blocked', kind: 'work' })).entries.map((item) => item.seq)).toEqual([at(3), at(4)])
  })

  test('is seen in its own namespace only', async () => {
    const id = await startOf(1, 'a', 'red')
    expect(await getRun(ledger, id, 'default')).toBeUndefined()
    expect(await readRunState(ledger, id, 'default')).toBeUndefined()
    expect((await getRun(ledger, id, 'red'))?.id).toBe(id)
    expect((await listRuns(ledger, { namespace: 'default' })).entries.map((run) => run.id)).not.toContain(id)
    expect((await listRuns(ledger, { namespace: null })).entries.map((run) => run.id)).toContain(id)
  })

  test('ids and numbers that no row can have are answered with nothing, not with an error', async () => {
    expect(await getRun(ledger, 'x', null)).toBeUndefined()
    expect(await getItem(ledger, await startOf(1), 2 ** 40)).toBeUndefined()
    expect((await listActions(ledger, 'x')).entries).toEqual([])
    expect(await listEvents(ledger, 'x')).toEqual([])
  })
})

describe('events', () => {
  test('that may have an earlier one on its way wait for a reader who follows the tail', async () => {
    const id = await startOf(1)
    expect((await listEvents(ledger, id)).map((event) => event.kind)).toEqual(['run.created', 'run.sealed'])
    expect(await listEvents(ledger, id, { settledMs: 60_000 })).toEqual([])
    await ledger.query(`update pawl.events set at = at - interval '61 seconds' where run_id = $1 and kind = 'run.created'`, [id])
    expect((await listEvents(ledger, id, { settledMs: 60_000 })).map((event) => event.kind)).toEqual(['run.created'])
  })
})

describe('the inbox', () => {
  test('pages through doubts, then blocked items, each once, with the answers each takes now', async () => {
    const id = await startOf(4, 'a', 'inbox')
    const seqs = (await listItems(ledger, id)).entries.map((item) => item.seq)
    const [first = -1, second = -1, third = -1, fourth = -1] = seqs
    await setItem(id, first, 'blocked', 'in_doubt')
    await addAction(id, first, 'in_doubt', { answerableIn: '1 hour' })
    await setItem(id, second, 'blocked', 'in_doubt')
    await addAction(id, second, 'in_doubt', { answerableIn: '-1 hour' })
    await setItem(id, third, 'blocked', 'crash_loop')
    await addAction(id, third, 'started')
    // Of what waits for a yes the request is shown, not the item.
    await setItem(id, fourth, 'blocked', 'approval')
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listInbox(ledger, { namespace: 'inbox', limit: 1, cursor })
      for (const entry of page.entries) seen.push(`${entry.itemSeq} ${entry.kind === 'in_doubt' ? entry.answers.join() : entry.kind === 'approval' ? entry.approval.id : entry.kind === 'question' ? entry.question.id : `${entry.reason} ${entry.verbs.join()}`}`)
      cursor = page.cursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual([`${first} happened`, `${second} happened,did_not,abandon`, `${third} crash_loop resume`])
    const [doubt] = (await listInbox(ledger, { namespace: 'inbox', limit: 1 })).entries
    expect(doubt).toMatchObject({ action: { evidence: ['"one, two"', '{}'], id: expect.any(Number) as number, answerableAt: expect.any(Date) as Date } })
  })
})

test('evidence is read back to the letter, quotes, backslashes and escapes included', async () => {
  const id = await startOf(1)
  const action = await addAction(id, 1, 'started')
  const entries = ['"a\\"b\\\\c"', '"doubt\\u001b"', '"line\\nbreak, {brace}"']
  await ledger.query(`update pawl.actions set evidence = (select array_agg(x) from json_array_elements_text($2::json) as x) where id = $1`, [action, JSON.stringify(entries)])
  expect((await getAction(ledger, id, action))?.evidence).toEqual(entries)
})

describe('a preview', () => {
  test('knows what is committed, open, undoable newest first, without inverse, refused last, past its key', async () => {
    const id = await startOf(3)
    const [first = -1, second = -1, third = -1] = (await listItems(ledger, id)).entries.map((item) => item.seq)
    const undoable = [await addAction(id, first, 'committed', { undo: '{}' }), await addAction(id, second, 'committed', { undo: '{}' })]
    const residue = [await addAction(id, first, 'committed'), await addAction(id, second, 'abandoned', { undo: '{}' })]
    await addAction(id, first, 'committed', { effect: 'read' })
    const expired = await addAction(id, first, 'started', { keyExpiresIn: '-1 second' })
    const fresh = await addAction(id, first, 'started', { keyExpiresIn: '1 hour' })
    await addAction(id, third, 'failed')
    const refused = await addAction(id, third, 'failed')
    await setItem(id, second, 'done')
    await setItem(id, third, 'failed')
    const facts = await readPreview(ledger, id)
    const ids = (sample: { actions: readonly { id: number }[] }): number[] => sample.actions.map((action) => action.id)
    expect({ ...facts, unsettled: ids(facts.unsettled), undoable: ids(facts.undoable), residue: ids(facts.residue), lastRefused: ids(facts.lastRefused) }).toEqual({
      committedInOpenItems: 3, stoppedSplits: 0, unsettled: [expired, fresh], undoable: undoable.toReversed(), residue, lastRefused: [refused], unsettledByKind: expect.any(Array) as unknown[],
    })
    expect(facts.unsettled.actions.map((action) => action.isKeyExpired)).toEqual([true, false])
  })

  test('counts what it does not list, the unsettled by what decides about them', async () => {
    const id = await startOf(1)
    await addMany(id, 1_002, 'committed', '{}')
    await addMany(id, 1_003, 'committed')
    await addMany(id, 1_004, 'started')
    await addAction(id, 1, 'in_doubt', { effect: 'non-idempotent' })
    const { undoable, residue, unsettled, unsettledByKind } = await readPreview(ledger, id)
    expect([undoable, residue, unsettled].map((sample) => [sample.total, sample.actions.length])).toEqual([[1_002, 1_000], [1_003, 1_000], [1_005, 1_000]])
    const kind = { tool: 't', toolVersion: '1', isUndo: false, isProved: false, isKeyExpired: false }
    expect(unsettledByKind.toSorted((a, b) => b.n - a.n)).toEqual([{ ...kind, effect: 'idempotent', status: 'started', n: 1_004 }, { ...kind, effect: 'non-idempotent', status: 'in_doubt', n: 1 }])
  })
})

describe('the backlog', () => {
  test('tells what is due from what sleeps, runs, waits or is held', async () => {
    const [id, paused] = [await startOf(5, 'backlog'), await startOf(2, 'backlog')]
    await ledger.query('update pawl.runs set paused = true where id = $1', [paused])
    const [first = -1, second = -1, third = -1] = (await listItems(ledger, id)).entries.map((item) => item.seq)
    await setItem(id, first, 'in_progress')
    await setItem(id, second, 'blocked', 'version')
    await ledger.query(`update pawl.items set available_at = clock_timestamp() + interval '1 hour' where run_id = $1 and seq = $2`, [id, third])
    expect((await countBacklog(ledger)).filter((row) => row.agent === 'backlog')).toEqual([{ agent: 'backlog', agentVersion: '1', due: 2, delayed: 1, inProgress: 1, blocked: 1, held: 2, oldestDueMs: expect.any(Number) as number }])
    expect((await countRuns(ledger)).filter((row) => row.agent === 'backlog')).toEqual([{ agent: 'backlog', status: 'running', runs: 2 }])
    await addAction(id, first, 'started')
    const doubts = await countDoubts(ledger)
    expect(doubts.unsettled).toBeGreaterThan(0)
    expect(doubts.oldestStartedAt).toBeInstanceOf(Date)
  })
})
