/** At 10,000 runs and 100,000 items no list, search or count goes through all items, actions or runs: how each read is done, asked of the server itself. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import { Ledger } from '../connect.ts'
import { migrateLedger } from '../migrate.ts'
import { countInbox, countRunsByStatus } from './count-runs.ts'
import { getRun, listRuns } from './get-run.ts'
import { listActions } from './list-actions.ts'
import { listAttempts } from './list-attempts.ts'
import { listEvents } from './list-events.ts'
import { listInbox } from './list-inbox.ts'
import { listItems } from './list-items.ts'
import { listTurns } from './list-turns.ts'
import { readFailures } from './read-failures.ts'
import { readPace } from './read-pace.ts'
import { readSquares } from './read-squares.ts'

let database: FreshDatabase
let ledger: Ledger
const big = newId()
const one = newId()

/** 9,998 runs of four items, one of 60,000, one of 8: 100,000 items in all, and as many actions. Of the small runs a few are open, and a few items of theirs wait for people. The big run is old: a page that shows it counts its items, and that is most of the table. */
beforeAll(async () => {
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url, statementTimeoutMs: 120_000, deadlineMs: 120_000 })
  await migrateLedger(ledger)
  const insertRuns = `insert into pawl.runs (id, namespace, agent, agent_version, input, labels, policy, status, items_total, created_by, created_at)`
  await ledger.query(`${insertRuns} select gen_random_uuid(), 'default', 'agent-' || n % 20, '1', '1', jsonb_build_object('team', 'team-' || n % 50, 'order', 'order-' || n), '{"onFailure":"hold"}',
    case when n % 100 = 0 then 'running' when n % 10 = 0 then 'completed_with_failures' else 'completed' end, 4, 'x', clock_timestamp() - n * interval '1 minute' from generate_series(1, 9998) as n`)
  await ledger.query(`${insertRuns} values ($1, 'default', 'agent-1', '1', '1', '{"team":"big"}', '{"onFailure":"hold"}', 'completed', 60000, 'x', clock_timestamp() - interval '30 days'), ($2, 'default', 'agent-1', '1', '1', '{"team":"one"}', '{"onFailure":"hold"}', 'running', 8, 'x', clock_timestamp())`, [big, one])
  await ledger.query(`insert into pawl.run_keys (namespace, key, run_id) select 'default', 'key-' || (labels ->> 'order'), id from pawl.runs where labels ? 'order'`)
  await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status, blocked_reason, error, finished_at)
    select r.id, n, 'work', 'k' || n, '{}', case when r.status <> 'running' then 'done' when n = 1 then 'blocked' when n = 2 then 'failed' when n % 3 = 0 then 'pending' else 'done' end,
      case when r.status = 'running' and n = 1 then 'diverged' end, case when r.status = 'running' and n = 2 then '{"name":"E","message":"no"}' end, clock_timestamp() - random() * interval '30 minutes'
    from pawl.runs r cross join lateral generate_series(1, r.items_total) as n`)
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms)
    select run_id, seq, 'a' || seq, 't', '1', 'idempotent', case when blocked_reason is not null and run_id = $1 then 'in_doubt' else 'committed' end, 1, '{}', 'd', 1, 1 from pawl.items`, [one])
  for (const table of ['runs', 'run_keys', 'items', 'actions', 'events', 'approvals', 'questions', 'attempts', 'turns']) await ledger.query(`vacuum analyze pawl.${table}`)
}, 180_000)
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

interface Node { readonly 'Node Type': string; readonly 'Relation Name'?: string; readonly Plans?: readonly Node[] }

/** Tables a read goes through from end to end. */
async function scannedBy(read: (watched: Ledger) => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  const look = (node: Node): void => {
    if (node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== undefined) found.push(node['Relation Name'])
    for (const each of node.Plans ?? []) look(each)
  }
  await read(new Proxy(ledger, {
    get: (target, name) => name !== 'query' ? Reflect.get(target, name, target) as unknown : async (...[text, params]: Parameters<Ledger['query']>) => {
      const [row] = await target.query<{ 'QUERY PLAN': { Plan: Node }[] }>(`explain (format json) ${text}`, params)
      for (const { Plan } of row?.['QUERY PLAN'] ?? []) look(Plan)
      return await target.query(text, params)
    },
  }))
  return found
}

const all = { namespace: 'default' } as const
/** Few rows, and no index would help. */
const small = new Set(['approvals', 'questions', 'events', 'attempts', 'turns', 'run_keys'])

describe('no read goes through all of a big table', () => {
  test.each<[string, (watched: Ledger) => Promise<unknown>]>([
    ['runs, newest first', (on) => listRuns(on, all)],
    ['runs by status', (on) => listRuns(on, { ...all, status: ['running', 'failed'] })],
    ['runs by a label', (on) => listRuns(on, { ...all, labels: { order: 'order-77' } })],
    ['runs by time', (on) => listRuns(on, { ...all, createdAfter: new Date(Date.now() - 3_600_000), createdBefore: new Date() })],
    ['runs by the beginning of an id', (on) => listRuns(on, { ...all, search: one.slice(0, 8) })],
    ['runs by a label’s value', (on) => listRuns(on, { ...all, search: 'order-77' })],
    ['runs by a key', (on) => listRuns(on, { ...all, search: 'key-order-77' })],
    ['one run', (on) => getRun(on, one, 'default')],
    ['counts under a filter', (on) => countRunsByStatus(on, { ...all, labels: { order: 'order-77' } })],
    ['what waits for people, counted', (on) => countInbox(on, 'default', 1_000)],
    ['the inbox', (on) => listInbox(on, { ...all, limit: 100 })],
    ['items of a big run', (on) => listItems(on, big, { limit: 100 })],
    ['items of a small run by status', (on) => listItems(on, one, { status: 'failed' })],
    ['actions of a big run', (on) => listActions(on, big, { limit: 100 })],
    ['actions of an item', (on) => listActions(on, big, { itemSeq: 5 })],
    ['events', (on) => listEvents(on, big)],
    ['attempts', (on) => listAttempts(on, big, 5)],
    ['turns', (on) => listTurns(on, big, 5)],
    ['the picture of a small run', (on) => readSquares(on, one)],
    ['the failures of a small run', (on) => readFailures(on, one)],
    ['the pace of a small run', (on) => readPace(on, one, 60)],
  ])('%s', async (_, read) => {
    expect((await scannedBy(read)).filter((table) => !small.has(table))).toEqual([])
  })

  test('a read without an index is noticed', async () => {
    expect(await scannedBy((on) => on.query(`select count(*) from pawl.items where payload = 'x'`))).toEqual(['items'])
  })
})
