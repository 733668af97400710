/** One verb for many runs: named, or piped from a list; each has a result of its own, and the exit code says whether one was refused. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, type PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bulkOnMany } from './cli/bulk-record.ts'
import { actOnMany, type BulkReport } from './cli/bulk.ts'
import { Output } from './cli/output.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { Run, StartedRun } from './index.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => { await world.close() })

const unknown = '01a22825-62eb-7115-9249-dfba67e4f7f7'
let label = 0

/** Runs nobody works on: there is no fleet. */
async function openRuns(n: number, ...given: string[]): Promise<{ ids: string[]; label: string }> {
  const mark = `batch=${++label}`
  const ids: string[] = []
  for (let i = 0; i < n; i++) ids.push((await world.json<StartedRun>('run', 'start', 'notes', '--input', '{"lines":1}', '--label', mark, ...given)).id)
  return { ids, label: mark }
}

const listed = (...filter: string[]) => world.json<{ entries: Run[] }>('run', 'list', '--limit', '1000', ...filter)

test('a list of ids goes through a pipe into a verb: every page of it, each run with its result', async () => {
  const { ids, label: mark } = await openRuns(3)
  const list = await world.pawl('run', 'list', '--label', mark, '-o', 'ids')
  expect(list).toEqual({ code: 0, stderr: '', stdout: `${ids.toReversed().join('\n')}\n` })
  const paused = await world.piped(list.stdout, 'run', 'pause', '-', '--json')
  expect([paused.code, paused.stderr]).toEqual([0, ''])
  expect(JSON.parse(paused.stdout)).toEqual({
    verb: 'pause', dryRun: false, total: 3, done: 3, refused: 0, open: 0, entries: ids.toReversed().map((runId) => ({ runId, outcome: 'done', status: 'splitting', detail: '' })),
  } satisfies BulkReport)
  expect((await listed('--label', mark)).entries.map((run) => run.paused)).toEqual([true, true, true])
})

test('-o ids prints all there are, not the first page of them; with --limit just so many', async () => {
  await world.ledger.query(`insert into pawl.runs (id, namespace, agent, agent_version, input, status, created_by) select gen_random_uuid(), 'default', 'many', '1', '{}', 'completed', 't' from generate_series(1, 1050)`)
  const all = await world.pawl('run', 'list', '--agent', 'many', '-o', 'ids')
  expect(new Set(all.stdout.trim().split('\n')).size).toBe(1_050)
  const few = await world.pawl('run', 'list', '--agent', 'many', '-o', 'ids', '--limit', '7')
  expect(few.stdout.trim().split('\n')).toHaveLength(7)
})

test('what is refused stops no other, is named with its reason, and makes exit 1', async () => {
  const { ids: [first = '', second = ''] } = await openRuns(2)
  await world.json('run', 'cancel', first)
  const { code, stdout, stderr } = await world.pawl('run', 'cancel', first, unknown, second, '--reason', 'wrong list')
  expect([code, stderr]).toEqual([1, ''])
  expect(stdout).toMatch(new RegExp(`^${first} {2}refused {2}.*cancelled.*\n${unknown} {2}refused {2}There is no such run\\..*\n${second} {2}cancelled\ncancel: 3 runs, 1 done, 2 refused\\.\n$`))
  expect(await world.json('run', 'show', second)).toMatchObject({ status: 'cancelled' })
})

test('ids in capitals are the same runs, each once; what is not there is refused under them as well', async () => {
  const { ids: [id = ''] } = await openRuns(1)
  expect(await world.json('run', 'pause', id.toUpperCase(), id)).toMatchObject({ total: 1, done: 1, entries: [{ runId: id, outcome: 'done' }] })
  const { code, stdout } = await world.pawl('run', 'cancel', '0199AAAA-62EB-7115-9249-DFBA67E4F7F7', '0199BAAA-62EB-7115-9249-DFBA67E4F7F7', '--json')
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { total: 2, done: 0, refused: 2, open: 0 }])
})

test.each(['pause', 'compensate'])('%s: what is no id at all is refused by itself, and stops no other', async (verb) => {
  const { ids: [id = ''] } = await openRuns(1)
  if (verb === 'compensate') await world.json('run', 'cancel', id)
  const { code, stdout, stderr } = await world.pawl('run', verb, 'not-an-id', id, '--json')
  expect([code, stderr]).toEqual([1, ''])
  expect(JSON.parse(stdout)).toMatchObject({ total: 2, done: 1, refused: 1, open: 0, entries: [{ runId: 'not-an-id', outcome: 'refused', detail: expect.stringContaining('There is no run') as string }, { runId: id, outcome: 'done' }] })
})

/** What the command writes when its client fails on the way: real answers, but for those the test takes away. */
async function cutOff(act: (out: Output, client: PawlClient) => Promise<number>, change: (client: PawlClient) => Partial<PawlClient>): Promise<{ code: number | undefined; thrown: unknown; report: BulkReport | undefined }> {
  const client = createClient({ ledger: world.ledger, actor: 'cli:test', namespace: 'default', close: async () => undefined })
  let said = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => { said += String(text); return true })
  try {
    const [outcome] = await Promise.allSettled([act(new Output('json'), { ...client, ...change(client) })])
    return { code: outcome.status === 'fulfilled' ? outcome.value : undefined, thrown: outcome.status === 'rejected' ? outcome.reason : undefined, report: said === '' ? undefined : JSON.parse(said) as BulkReport }
  } finally {
    spy.mockRestore()
    await client.close()
  }
}

const isGone = (): Promise<never> => Promise.reject(new PawlError('LEDGER_UNREACHABLE', 'Postgres did not answer.', 'retry'))

test('beyond a thousand runs, what was done before the way was cut is reported, the rest is counted as open, and the failure follows', async () => {
  const ids = Array.from({ length: 1_002 }, () => randomUUID())
  let asked = 0
  const { thrown, report } = await cutOff((out, client) => bulkOnMany(client, out, 'cancel', ids, undefined), (client) => ({ bulk: (...given) => (++asked === 2 ? isGone() : client.bulk(...given)) }))
  expect(thrown).toMatchObject({ code: 'LEDGER_UNREACHABLE', message: expect.stringContaining('0 of 1,002 runs had their cancel by then; the same command goes on with the rest') as string })
  expect(report).toMatchObject({ total: 1_002, done: 0, refused: 1_000, open: 2 })
  expect(report?.entries.map((entry) => entry.runId)).toEqual(ids.slice(0, 1_000))
})

test('a verb that goes run by run reports what it did, too, before it says why it ended', async () => {
  const { ids } = await openRuns(2)
  const act = (out: Output, client: PawlClient) => actOnMany(out, 'pause', ids, { dryRun: false }, async (id) => (id === ids[1] ? await isGone() : { outcome: 'done', status: (await client.pause(id)).status, detail: '' }))
  expect(await cutOff(act, () => ({}))).toMatchObject({ thrown: { code: 'LEDGER_UNREACHABLE' }, report: { total: 2, done: 1, refused: 0, open: 1, entries: [{ runId: ids[0] }] } })
})

test('a run of which the answer says nothing is not done: it is counted as open and makes exit 1', async () => {
  const { ids } = await openRuns(2)
  const { code, report } = await cutOff((out, client) => bulkOnMany(client, out, 'pause', ids, undefined), (client) => ({
    bulkStatus: async (...given) => {
      const answer = await client.bulkStatus(...given)
      return { ...answer, entries: answer.entries.filter(({ runId }) => runId !== ids[0]) }
    },
  }))
  expect([code, report]).toMatchObject([1, { total: 2, done: 1, refused: 0, open: 1, entries: [{ runId: ids[1] }] }])
})

test('a dry run of many changes nothing and says in a line each what would be done', async () => {
  const { ids } = await openRuns(2, '--items', world.write('two.ndjson', '{"key":"a","payload":{"line":"a"}}\n{"key":"b","payload":{"line":"b"}}\n'))
  for (const id of ids) await world.json('run', 'cancel', id)
  const before = await Promise.all(ids.map((id) => world.json<Run>('run', 'show', id)))
  const looked = await world.pawl('run', 'resume', ...ids, '--dry-run')
  expect([looked.code, looked.stdout]).toEqual([0, expect.stringMatching(/2 items again\n.*2 items again\nLooked at, nothing was changed: resume of 2 runs, 2 would be done\.\n$/)])
  expect(await Promise.all(ids.map((id) => world.json<Run>('run', 'show', id)))).toEqual(before)
  const resumed = await world.json<BulkReport>('run', 'resume', ...ids)
  expect(resumed).toMatchObject({ done: 2, refused: 0, entries: [{ status: 'running', detail: '' }, { status: 'running' }] })
})

test('compensate and repin take several runs as well', async () => {
  const { ids } = await openRuns(2)
  expect(await world.json('run', 'repin', ...ids, '--to', '2', '--force')).toMatchObject({ verb: 'repin', done: 2, entries: [{ detail: expect.stringContaining('version 1 → 2') as string }, {}] })
  for (const id of ids) await world.json('run', 'cancel', id)
  expect(await world.json('run', 'compensate', ...ids)).toMatchObject({ verb: 'compensate', done: 2, entries: [{ status: 'compensating' }, { status: 'compensating' }] })
})

test('nothing in the pipe is nothing to do; "-" beside others, or without a pipe, is used wrongly', async () => {
  expect(await world.piped('\n', 'run', 'resume', '-')).toEqual({ code: 0, stderr: '', stdout: 'No runs were given, so nothing was done.\n' })
  expect(await world.pawl('run', 'resume', '-', unknown)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('pawl run list -o ids | pawl run resume -') as string })
  expect(await world.pawl('run', 'resume', unknown, unknown.replace('01', '02'), '--item', '1')).toMatchObject({ code: 2, stderr: expect.stringContaining('one run') as string })
})

test('a database that is gone is no result of a run: the command ends and says how far it came', async () => {
  const outcome = await world.pawl('run', 'pause', unknown, unknown.replace('01', '02'), '--database', 'postgres://ann:geheim@127.0.0.1:1/x')
  expect(outcome).toMatchObject({ code: 1, stdout: '' })
  expect(outcome.stderr).toContain('did not answer')
  expect(outcome.stderr).not.toContain('geheim')
})

test('pause, resume and cancel are a record in the ledger, which says who did what to which run', async () => {
  const { ids } = await openRuns(2)
  await world.json('run', 'cancel', ...ids, '--reason', 'wrong list')
  const rows = await world.ledger.query<{ verb: string; reason: string; runs: number }>(`select b.verb, b.reason, (select count(*)::integer from pawl.bulk_runs r where r.bulk_id = b.id and r.outcome = 'done') as runs
    from pawl.bulks b where exists (select 1 from pawl.bulk_runs r where r.bulk_id = b.id and r.run_id = $1)`, [ids[0] ?? ''])
  expect(rows).toEqual([{ verb: 'cancel', reason: 'wrong list', runs: 2 }])
})

test('the list is narrowed by several statuses, by what it is searched for, by when it was made and by whether it stands', async () => {
  const { ids: [first = '', second = ''], label: mark } = await openRuns(2, '--key', 'found-by-its-key')
  expect(second).toBe(first)
  const found = async (...filter: string[]): Promise<string> => (await world.pawl('run', 'list', '--label', mark, '-o', 'ids', ...filter)).stdout.trim()
  expect(await Promise.all([
    found('--status', 'completed', 'splitting'), found('--status', 'completed'), found('--search', 'found-by-its-key'), found('--search', first.slice(0, 13)), found('--search', 'nothing'),
    found('--created-after', '1h'), found('--created-before', '1h'), found('--created-before', '2020-01-01'), found('--paused'), found('--no-paused'),
  ])).toEqual([first, '', first, first, '', first, '', '', '', first])
  expect(await world.pawl('run', 'list', '--created-after', 'yesterday')).toMatchObject({ code: 2, stderr: expect.stringContaining('how long ago (2h, 3d)') as string })
})

test('an export is written whole or not at all: to stdout, or into a file', async () => {
  const { ids: [id = ''] } = await openRuns(1)
  const lines = (await world.pawl('run', 'export', id)).stdout.trim().split('\n').map((line) => JSON.parse(line) as { kind: string; counts?: Record<string, number> })
  expect([lines[0]?.kind, lines.at(-1)]).toEqual(['run', { kind: 'end', counts: expect.objectContaining({ run: 1, item: 1 }) as unknown }])
  const file = join(world.folder, 'run.ndjson')
  expect(await world.pawl('run', 'export', id, '--out', file)).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining(`${lines.length} lines`) as string })
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(lines.length)
  const other = join(world.folder, 'other.ndjson')
  expect(await world.pawl('run', 'export', unknown, '--out', other)).toMatchObject({ code: 1, stdout: '' })
  expect(readdirSync(world.folder).filter((name) => name.startsWith('other.ndjson'))).toEqual([])
})

test('an export into a folder that is not there is used wrongly; onto what cannot be written to its end it fails. Neither leaves half a file, or harms what was there', async () => {
  const { ids: [id = ''] } = await openRuns(1)
  const nowhere = await world.pawl('run', 'export', id, '--out', join(world.folder, 'gone', 'run.ndjson'))
  expect(nowhere).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/--out: .*run\.ndjson cannot be written \(ENOENT\)/) as string })
  const file = join(world.folder, world.write('kept.ndjson', 'what was there\n'))
  // A disk without room under the draft's name, which has this process's number.
  symlinkSync('/dev/full', `${file}.${process.pid}.part`)
  const full = await world.pawl('run', 'export', id, '--out', file)
  expect(full).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/kept\.ndjson .*\(ENOSPC\).*as it was/) as string })
  expect([readFileSync(file, 'utf8'), readdirSync(world.folder).filter((name) => name.startsWith('kept.'))]).toEqual(['what was there\n', ['kept.ndjson']])
})

test('stdout without room ends the command with its reason, not with a stack', async () => {
  const { ids: [id = ''] } = await openRuns(1)
  const { code, stderr } = await world.onto('/dev/full', 'run', 'export', id)
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^pawl: .*ENOSPC.*\n$/)])
})
