/**
 * How long a producer takes for what pages and commands ask again and again: 10,000 runs, 100,000 items of one run, as many actions. On an embedded Postgres of
 * its own, each request 30 times, one after the other, from a process of its own. `npm run bench:reads [-- --json]`.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../packages/embedded/dist/index.js'
import { Ledger, migrateLedger } from '../../packages/ledger/dist/index.js'
import { startProducer } from '../../apps/producer/dist/index.js'

const times = 30
const print = (text = '') => process.stdout.write(`${text}\n`)
const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-reads-'))
const postgres = await startEmbedded({ folder })
const ledger = new Ledger({ url: postgres.url, statementTimeoutMs: 300_000, deadlineMs: 300_000 })
let producer
try {
  await migrateLedger(ledger)
  const insert = 'insert into pawl.runs (id, namespace, agent, agent_version, input, labels, policy, status, items_total, created_by, created_at)'
  await ledger.query(`${insert} select gen_random_uuid(), 'default', 'agent-' || n % 20, '1', '1', jsonb_build_object('team', 'team-' || n % 50, 'order', 'order-' || n), '{"onFailure":"hold"}',
    case when n % 100 = 0 then 'running' else 'completed' end, 4, 'bench', clock_timestamp() - n * interval '1 minute' from generate_series(1, 9999) as n`)
  const big = randomUUID()
  await ledger.query(`${insert} values ($1, 'default', 'agent-1', '1', '1', '{"team":"big"}', '{"onFailure":"hold"}', 'running', 100000, 'bench', clock_timestamp() - interval '30 days')`, [big])
  await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status, blocked_reason, error, finished_at) select r.id, n, 'work', 'k' || n, to_json(rpad('', 200, 'x'))::text,
    case when n % 17 = 0 then 'failed' when n % 1000 = 1 then 'blocked' when n % 5 = 0 then 'pending' else 'done' end, case when n % 17 <> 0 and n % 1000 = 1 then 'diverged' end,
    case when n % 17 = 0 then '{"name":"ToolFailed","message":"no stock of part ' || n || ' in warehouse ' || n % 3 || '"}' end, clock_timestamp() - random() * interval '60 minutes' from pawl.runs r cross join lateral generate_series(1, r.items_total) as n`)
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, result, timeout_ms, settle_ms)
    select run_id, seq, 'a' || seq, 't', '1', 'idempotent', 'committed', 1, '{"to":"somebody"}', 'd', '{"ok":true}', 1, 1 from pawl.items where run_id = $1`, [big])
  for (const table of ['runs', 'items', 'actions']) await ledger.query(`vacuum analyze pawl.${table}`)
  producer = await startProducer({ agents: [], env: { DATABASE_URL: postgres.url, PAWL_QUEUE: 'postgres', PAWL_PORT: '0', PAWL_LOG_LEVEL: 'silent' } })

  const requests = {
    'runs, newest 50': '/v1/runs?limit=50',
    'runs by status': '/v1/runs?status=running&limit=50',
    'runs by a label': '/v1/runs?label=team:team-7&limit=50',
    'runs of one day': `/v1/runs?createdAfter=${new Date(Date.now() - 86_400_000).toISOString()}&limit=50`,
    'search by a label’s value': '/v1/runs?search=order-77',
    'search by the beginning of an id': `/v1/runs?search=${big.slice(0, 8)}`,
    'counts by status': '/v1/runs/counts',
    'one run of 100,000 items': `/v1/runs/${big}`,
    'its items, 100 of them': `/v1/runs/${big}/items?limit=100`,
    'its failed items': `/v1/runs/${big}/items?status=failed&limit=100`,
    'its squares': `/v1/runs/${big}/squares`,
    'its failures, grouped': `/v1/runs/${big}/failures`,
    'its pace': `/v1/runs/${big}/pace`,
    'its actions, 100 of them': `/v1/runs/${big}/actions?limit=100`,
    'the inbox': '/v1/inbox?limit=100',
    'the fleet': '/v1/fleet',
  }
  const rows = []
  for (const [name, path] of Object.entries(requests)) {
    const took = []
    let bytes = 0
    for (let i = 0; i < times; i++) {
      // Beyond the moment for which some answers are kept.
      if (/squares|failures|fleet/.test(path)) await new Promise((resolve) => setTimeout(resolve, 1_100))
      const begun = performance.now()
      const answer = await fetch(producer.url + path)
      bytes = (await answer.arrayBuffer()).byteLength
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`)
      took.push(performance.now() - begun)
    }
    took.sort((a, b) => a - b)
    rows.push({ name, p50Ms: Math.round(took[times / 2]), worstMs: Math.round(took.at(-1)), bytes })
  }
  const before = performance.now()
  const dump = await (await fetch(`${producer.url}/v1/runs/${big}/export`)).text()
  const exported = { lines: dump.trimEnd().split('\n').length, seconds: Number(((performance.now() - before) / 1_000).toFixed(1)), mb: Math.round(dump.length / 1e6) }
  if (process.argv.includes('--json')) print(JSON.stringify({ rows, exported }))
  else {
    print('| request | p50 ms | slowest of 30 ms | kB |\n|---|---|---|---|')
    for (const row of rows) print(`| ${row.name} | ${row.p50Ms} | ${row.worstMs} | ${Math.ceil(row.bytes / 1_000)} |`)
    print(`\nexport of the big run: ${exported.lines} lines, ${exported.mb} MB in ${exported.seconds} s`)
  }
} finally {
  await producer?.close()
  await ledger.close()
  await postgres.release()
  rmSync(folder, { recursive: true, force: true })
}
