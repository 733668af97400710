/** What every scrape asks, over a run of 100,000 items: it reads what is open, by an index, and not what has ended. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../stage.testsuite.ts'
import { countBacklog, countDoubts, countOpenActions, countRuns } from './count-backlog.ts'
import { Ledger, type Row } from '../connect.ts'

const items = 100_000
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await fill('running', items)
  await stage.rows('vacuum analyze pawl.items')
  await stage.rows('vacuum analyze pawl.actions')
  await stage.rows('vacuum analyze pawl.runs')
}, 300_000)
afterAll(async () => { await stage.close() })

/** Half of the items done with two committed actions each, a hundred at work, one in doubt, one left behind by a process that died. */
async function fill(agent: string, n: number): Promise<void> {
  const id = newId()
  await stage.rows(`insert into pawl.runs (id, namespace, agent, agent_version, input, status, created_by, items_total) values ($1, 'default', $2, '1', '1', 'running', 'x', $3)`, [id, agent, n])
  await stage.rows(`insert into pawl.items (run_id, seq, kind, key, payload, status, lease_until)
    select $1, s, 'work', 'k' || s, '1', case when s <= $2 / 2 then 'done' when s <= $2 / 2 + 100 then 'in_progress' else 'pending' end, clock_timestamp() + interval '1 hour' from generate_series(1, $2::integer) s`, [id, n])
  await stage.rows(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms)
    select $1, s, 'k' || s || '-' || c, 't', '1', 'idempotent', 'committed', 1, '{}', 'd', 1, 1 from generate_series(1, $2::integer / 2) s, generate_series(1, 2) c`, [id, n])
  await stage.rows(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, started_at)
    select $1, s, 'open-' || s, 't', '1', 'idempotent', case when s = $2::integer / 2 + 102 then 'in_doubt' else 'started' end, 1, '{}', 'd', 1, 1, clock_timestamp() - interval '1 minute'
    from generate_series($2::integer / 2 + 1, $2::integer / 2 + 102) s`, [id, n])
}

/** Notes what is asked of it. */
class NotingLedger extends Ledger {
  readonly asked: string[] = []
  override async query<R extends Row = Row>(...[text, ...rest]: Parameters<Ledger['query']>): Promise<R[]> {
    this.asked.push(text)
    return await super.query<R>(text, ...rest)
  }
}

/** The plans a read's statements are carried out by, and how long it took. */
async function plansOf(read: (ledger: Ledger) => Promise<unknown>): Promise<{ plans: string; ms: number }> {
  const ledger = new NotingLedger({ url: stage.url, connections: 1 })
  const begun = performance.now()
  await read(ledger)
  const ms = performance.now() - begun
  await ledger.close()
  let plans = ''
  for (const text of ledger.asked) plans += (await stage.rows<Record<string, string>>(`explain (analyze, buffers, timing off) ${text}`)).map((row) => row['QUERY PLAN']).join('\n')
  return { plans, ms }
}

test('the figures are right', async () => {
  expect(await countBacklog(stage.ledger)).toMatchObject([{ agent: 'running', due: items / 2 - 100, delayed: 0, inProgress: 100, blocked: 0, held: 0 }])
  expect(await countRuns(stage.ledger)).toEqual([{ agent: 'running', status: 'running', runs: 1 }])
  expect((await countOpenActions(stage.ledger)).toSorted((a, b) => a.status.localeCompare(b.status))).toMatchObject([
    { agent: 'running', status: 'in_doubt', n: 1, unsettled: 0 }, { agent: 'running', status: 'started', n: 101, unsettled: 1 },
  ])
  expect(await countDoubts(stage.ledger)).toMatchObject({ unsettled: 101, inDoubt: 1 })
})

test.each([['backlog', countBacklog], ['open actions', countOpenActions], ['doubts', countDoubts]] as const)('the %s of 100,000 items is counted from indexes of what is open', async (what, read) => {
  const { plans, ms } = await plansOf(read)
  process.stdout.write(`${what}: ${ms.toFixed(0)} ms\n${plans}\n`)
  expect(plans).not.toMatch(/Seq Scan on (items|actions)/)
  expect(plans).toMatch(/items_open|actions_started/)
})
