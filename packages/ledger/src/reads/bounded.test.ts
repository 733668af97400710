/** Whatever the size of what agents and tools wrote: an answer of the ledger fits into the process that asks for it, and nothing is lost by it. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ledger } from '../connect.ts'
import { openStage, type Stage } from '../stage.testsuite.ts'
import { withTransaction } from '../transaction.ts'
import { listWithoutUndo } from '../verbs/compensation.ts'
import { startWholeRun } from '../verbs/start-whole-run.ts'
import { listRuns } from './get-run.ts'
import { getAction, listActions, type ActionView } from './list-actions.ts'
import { listInbox } from './list-inbox.ts'
import { listItems } from './list-items.ts'
import type { Page } from './pages.ts'
import { readPreview } from './read-preview.ts'
import { scanRun } from './scan-run.ts'

let stage: Stage
let ledger: Ledger
beforeAll(async () => {
  stage = await openStage()
  ledger = stage.ledger
})
afterAll(() => stage.close())

/** A page of values, and the names around them. */
const mostPage = 5_000_000

async function startOfOne(): Promise<string> {
  const id = newId()
  await withTransaction(ledger, { timeoutMs: 10_000 }, (tx) => startWholeRun({ query: (text, values) => tx.query(text, values) }, {
    id, namespace: 'default', key: null, digest: null, agent: 'a', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null,
    input: '1', labels: {}, policy: {}, createdBy: 'x', split: false,
  }, [{ key: 'k', payload: '1' }]))
  return id
}

interface Written {
  readonly status?: string
  readonly args?: string
  readonly result?: string
  readonly undo?: string
  readonly evidence?: readonly string[]
  readonly applied?: string
}

/** `n` of the same, each with a key of its own. */
async function addActions(runId: string, n: number, { status = 'committed', args = 'null', result, undo, evidence = [], applied }: Written): Promise<void> {
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, result, undo, evidence, applied_evidence)
    select $1, 1, 'k' || i || random(), 't', '1', 'idempotent', $2, 1, $3, 'd', 1, 1, $4::text, $5::text, array(select json_array_elements_text($6::json)), $7::text from generate_series(1, $8::integer) as i`,
  [runId, status, args, result ?? null, undo ?? null, JSON.stringify(evidence), applied ?? null, n])
}

const text = (bytes: number): string => JSON.stringify('u'.repeat(bytes - 2))
const omitted = (bytes: number): string => JSON.stringify({ $pawl: 'omitted', bytes })
const parsed = (value: string | null): unknown => (value === null ? null : JSON.parse(value))
const bytesOf = (value: unknown): number => JSON.stringify(value).length

describe('a list leaves big values out', () => {
  const big = text(900_000)
  const values = { args: text(70_000), undo: big, evidence: ['"before"', big, '"after"'], applied: big }
  const asShown = { args: omitted(70_000), undo: omitted(900_000), evidence: ['"before"', omitted(900_000), '"after"'], appliedEvidence: omitted(900_000) }
  const shownOf = ({ args, undo, evidence, appliedEvidence }: ActionView) =>
    ({ args: parsed(args), undo: parsed(undo), evidence: evidence.map(parsed), appliedEvidence: parsed(appliedEvidence) })
  const expected = { args: parsed(asShown.args), undo: parsed(asShown.undo), evidence: asShown.evidence.map(parsed), appliedEvidence: parsed(asShown.appliedEvidence) }

  test('every value of an action, one by one: undo, each entry of its evidence, the result that came late; read alone it is whole', async () => {
    const id = await startOfOne()
    await addActions(id, 20, values)
    const { entries } = await listActions(ledger, id)
    expect(entries).toHaveLength(20)
    for (const action of entries) expect(shownOf(action)).toEqual(expected)
    expect(await getAction(ledger, id, entries[0]?.id ?? -1)).toMatchObject({ args: values.args, undo: big, evidence: values.evidence, appliedEvidence: big })
  })

  test('of a call in doubt too, in the inbox; the number of its evidence stays what an answer must name', async () => {
    const id = await startOfOne()
    await addActions(id, 20, { ...values, status: 'in_doubt' })
    const { entries } = await listInbox(ledger, { namespace: null, runId: id })
    expect(entries).toHaveLength(20)
    for (const entry of entries) {
      if (entry.kind !== 'in_doubt') throw new Error(entry.kind)
      expect(shownOf(entry.action)).toEqual(expected)
      expect(entry.answers).toEqual(['happened'])
    }
  })

  test('of many small entries of evidence the first 64 kB are shown, the others each by its size', async () => {
    const id = await startOfOne()
    await addActions(id, 2, { evidence: Array.from({ length: 5_000 }, () => text(100)) })
    const { entries } = await listActions(ledger, id)
    for (const { evidence } of entries) {
      expect(evidence).toHaveLength(5_000)
      expect(evidence.filter((entry) => entry === text(100))).toHaveLength(655)
      expect(parsed(evidence.at(-1) ?? '')).toEqual(parsed(omitted(100)))
    }
  })

  test('a preview reads no value at all', async () => {
    const id = await startOfOne()
    await addActions(id, 100, { args: text(60_000), result: text(60_000), undo: text(60_000) })
    await addActions(id, 100, { status: 'started', args: text(60_000), applied: text(60_000) })
    expect(bytesOf(await readPreview(ledger, id))).toBeLessThan(200_000)
  })
})

test('what a compensation has to look at is read by name, without its values; a write whose undo was given up is not among it', async () => {
  const id = await startOfOne()
  await addActions(id, 10, { args: text(900_000), result: text(900_000) })
  await addActions(id, 1, { args: text(900_000), result: text(900_000), undo: '{}' })
  const [given] = await ledger.query<{ id: string }>('select min(id) as id from pawl.actions where run_id = $1', [id])
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, undoes) values ($1, 1, 'undo', 't', '1', 'idempotent', 'abandoned', 1, 'null', 'd', 1, 1, $2)`, [id, given?.id ?? ''])
  const found: unknown[] = []
  for await (const write of listWithoutUndo(ledger, id)) found.push(write)
  expect(found).toHaveLength(9)
  expect(bytesOf(found)).toBeLessThan(2_000)
})

describe('a page holds a few megabytes at most', () => {
  /** Every page of a list, none of them too big, and more than one. */
  async function gather<T>(list: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
    const found: T[] = []
    let pages = 0
    for (let cursor: string | undefined; ;) {
      const page = await list(cursor)
      expect(bytesOf(page)).toBeLessThan(mostPage)
      found.push(...page.entries)
      pages += 1
      if (page.cursor === null) break
      cursor = page.cursor
    }
    expect(pages).toBeGreaterThan(1)
    return found
  }

  const small = { args: text(60_000), result: text(60_000), undo: text(60_000), evidence: [text(60_000)] }

  test('of actions: one that is full before its limit ends there, and its cursor goes on', async () => {
    const id = await startOfOne()
    await addActions(id, 60, small)
    await addActions(id, 3, {})
    const seen = await gather((cursor) => listActions(ledger, id, { limit: 1_000, cursor }))
    const all = await ledger.query<{ id: string }>('select id from pawl.actions where run_id = $1 order by id', [id])
    expect(seen.map((action) => action.id)).toEqual(all.map((row) => Number(row.id)))
  })

  test('of items and of runs', async () => {
    const id = await startOfOne()
    await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, result, status) select $1, 100 + n, 'work', 'k' || n, $2, $2, 'done' from generate_series(1, 80) as n`, [id, text(60_000)])
    const items = await gather((cursor) => listItems(ledger, id, { limit: 1_000, cursor }))
    expect(items.map((item) => item.seq)).toEqual([1, ...Array.from({ length: 80 }, (_, i) => 101 + i)])
    await ledger.query(`insert into pawl.runs (id, namespace, agent, agent_version, input, result, policy, status, created_by) select gen_random_uuid(), 'full', 'a', '1', $1, $1, '{"onFailure":"hold"}', 'completed', 'x' from generate_series(1, 80)`, [text(60_000)])
    const runs = await gather((cursor) => listRuns(ledger, { namespace: 'full', limit: 1_000, cursor }))
    expect(new Set(runs.map((run) => run.id)).size).toBe(80)
  })

  test('of the inbox, which then goes on to what else waits', async () => {
    const id = await startOfOne()
    await addActions(id, 60, { ...small, status: 'in_doubt' })
    await ledger.query(`update pawl.items set status = 'blocked', blocked_reason = 'crash_loop' where run_id = $1`, [id])
    const entries = await gather((cursor) => listInbox(ledger, { namespace: null, runId: id, limit: 1_000, cursor }))
    const seen = entries.map((entry) => (entry.kind === 'in_doubt' ? String(entry.action.id) : entry.kind))
    expect(seen).toHaveLength(61)
    expect(new Set(seen).size).toBe(61)
    expect(seen.at(-1)).toBe('blocked')
  })

  test('of an export, whatever the rows are made of: evidence, late results, arguments under an approval, the data of an event', async () => {
    const id = await startOfOne()
    await addActions(id, 12, { args: text(900_000), evidence: [text(900_000), text(900_000)], applied: text(900_000) })
    await ledger.query(`insert into pawl.approvals (run_id, action_id, item_seq, tool, tool_version, args_digest, digest, expires_at) select run_id, id, item_seq, tool, tool_version, 'd', 'd', clock_timestamp() from pawl.actions where run_id = $1`, [id])
    await ledger.query(`insert into pawl.events (run_id, kind, actor, data) select $1, 'told', 'x', jsonb_build_object('text', $2::text) from generate_series(1, 12)`, [id, 'e'.repeat(900_000)])
    let most = 0
    const watched = new Proxy(ledger, {
      get: (target, name) => name !== 'query' ? Reflect.get(target, name, target) as unknown : async (...asked: Parameters<Ledger['query']>) => {
        const rows = await target.query(...asked)
        most = Math.max(most, bytesOf(rows))
        return rows
      },
    })
    const counts = new Map<string, number>()
    for await (const { kind, row } of scanRun(watched, id)) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
      if (kind === 'action') expect(row.evidence.map((entry) => entry.length)).toEqual([900_000, 900_000])
    }
    expect(Object.fromEntries(counts)).toMatchObject({ action: 12, approval: 12, event: 14 })
    expect(most).toBeLessThan(mostPage)
  })
})
