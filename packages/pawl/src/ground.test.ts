/** What is said about the ledger and the tools themselves: audit, doctor, tools, ledger clear. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newRunId } from '@pawl/core'
import { clearLedger, noteLoss, readGap, readIdentity } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { Finding } from './doctor/finding.ts'
import { describeRedis } from '../../../tests/setup/fixtures.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => { await world.close() })

const levelsOf = (outcome: { stdout: string }): Record<string, string> => {
  const { findings } = JSON.parse(outcome.stdout) as { findings: Finding[] }
  return Object.fromEntries(findings.map((finding) => [finding.check, finding.level]))
}

test('tools says of every tool how an interrupted call is settled, and what cannot be undone', async () => {
  const [people, tools] = await Promise.all([world.child('tools'), world.json<{ tool: string }[]>('tools')])
  expect(people.stdout).toMatch(/notes@1 +note\.write@1 +idempotent +its input +– +none +called again under its key/)
  expect(people.stdout).toMatch(/mails@2 +mail\.send@1 +non-idempotent +its input +– +none +asked of a person/)
  expect(people.stdout).toContain('Cannot be undone: note.write, mail.send, pay.')
  expect(tools).toMatchObject([{ tool: 'note.write', effect: 'idempotent', irreversible: true, verify: false }, { tool: 'mail.send', timeoutMs: 300, settleWindowMs: 100 }, { agent: 'asks@1' }, { agent: 'pays@1' }])
})

test('the doctor is content with an idle ledger, warns that nobody works, and fails when work waits for a version nobody serves', async () => {
  const idle = await world.pawl('doctor')
  expect(idle.code).toBe(0)
  expect(idle.stdout).toMatch(/warn +workers/)
  expect(idle.stdout).toContain('→ Start one before the next run: pawl worker')
  await world.json('run', 'start', 'notes', '--input', '{"lines":1}')
  const waiting = await world.pawl('doctor', '--json')
  expect(waiting.code).toBe(1)
  expect(levelsOf(waiting)).toMatchObject({ node: 'ok', config: 'ok', postgres: 'ok', schema: 'ok', timeline: 'ok', queue: 'ok', drift: 'ok', workers: 'fail', versions: 'fail', orphans: 'ok', blocked: 'ok' })
})

test('the doctor says how what waits for a version is moved, and repin says beforehand that nobody serves it', async () => {
  await world.ledger.query(`update pawl.items set status = 'blocked', blocked_reason = 'version', blocked_detail = '{"agent":"notes","version":"1"}'`)
  expect((await world.pawl('doctor')).stdout).toMatch(/fail +versions +1 item of notes@1 wait, and no live worker serves it/)
  const [run] = await world.ledger.query<{ id: string }>('select id from pawl.runs')
  const preview = await world.pawl('run', 'repin', run?.id ?? '', '--to', '9', '--dry-run')
  expect([preview.code, preview.stdout]).toEqual([1, expect.stringContaining('no live worker and no agent known here has version 9')])
  expect(await world.pawl('run', 'repin', run?.id ?? '')).toMatchObject({ code: 2, stderr: expect.stringContaining('--to <version>') as string })
  await world.ledger.query(`update pawl.items set status = 'pending', blocked_reason = null, blocked_detail = null`)
})

test('the lock is written, agrees with the code that wrote it, and a key that changes under its version fails the check with both keys', async () => {
  const lockFile = join(world.folder, 'pawl.lock.json')
  const args = ['tools', '--lock-file', lockFile] as const
  expect(await world.pawl(...args, '--check')).toMatchObject({ code: 1, stderr: expect.stringContaining('pawl tools --lock') as string })
  expect((await world.pawl(...args, '--lock')).code).toBe(0)
  expect(await world.pawl(...args, '--check')).toMatchObject({ code: 0 })
  const lock = readFileSync(lockFile, 'utf8')
  writeFileSync(lockFile, lock.replaceAll('"samples": [', '"samples": [\n"[\\"another\\"]",'))
  const changed = await world.pawl(...args, '--check')
  expect([changed.code, changed.stdout]).toEqual([1, expect.stringMatching(/✗ mail\.send@1: key changed without a new version\n +locked: .*another.*\n +now: /)])
})

test('the doctor names items under ended leases and blocked ones', async () => {
  await world.ledger.query(`update pawl.items set status = 'in_progress', epoch = 1, worker_id = gen_random_uuid(), lease_until = clock_timestamp() - interval '1 minute'`)
  expect(levelsOf(await world.pawl('doctor', '--json'))).toMatchObject({ orphans: 'warn', blocked: 'ok' })
  await world.ledger.query(`update pawl.items set status = 'blocked', blocked_reason = 'crash_loop', worker_id = null, lease_until = null`)
  const outcome = await world.pawl('doctor')
  expect(outcome.stdout).toMatch(/warn +blocked +1 item blocked\n +→ pawl inbox/)
  await world.ledger.query(`update pawl.items set status = 'pending', blocked_reason = null, epoch = 0`)
})

test('the doctor compares what the ledger rang for with what is on the queue', async () => {
  await world.ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, dispatched_at) select r.id, 1000 + n, 'work', 'rung ' || n, 'null', clock_timestamp() from pawl.runs r, generate_series(1, 300) n`)
  const outcome = await world.pawl('doctor')
  expect(outcome.stdout).toMatch(/warn +drift +of notes@1 the ledger rang for 300 items and the queue has 0 jobs\n +→ The sweep rings again/)
  await world.ledger.query(`delete from pawl.items where key like 'rung %'`)
})

test('a ledger on another history is a failure until a person has said that the gap was reviewed', async () => {
  await world.ledger.query(`update pawl.ledger set timeline = '000000FF'`)
  const [diagnosed, refused] = await Promise.all([world.pawl('doctor', '--json'), world.pawl('ledger', 'clear')])
  expect(levelsOf(diagnosed)).toMatchObject({ timeline: 'fail' })
  expect(diagnosed.stdout).toMatch(/what it acknowledged between .* and now UTC may be missing/)
  const shown = /pawl ledger clear --reviewed ([0-9a-f]{8})$/m
  const [, gap = ''] = shown.exec(refused.stderr) ?? []
  expect([refused.code, diagnosed.stdout]).toEqual([2, expect.stringContaining(gap)])
  // A worker that was cut off comes back before the person types it, and has a call that nobody was shown.
  const { history } = await readIdentity(world.ledger)
  const lost = { run: newRunId(), item: 1, key: 'key-of-a-lost-call', tool: 'mail', effect: 'non-idempotent', at: new Date().toISOString(), why: 'ended' } as const
  await noteLoss(world.ledger, history, 'promoted', { lost: [lost] })
  await world.ledger.query(`insert into pawl.workers (id, name, host, pid, serves, started_at) values (gen_random_uuid(), 'cut-off', 'far', 7, '[]', clock_timestamp() - interval '1 hour')`)
  for (const named of [['--reviewed', gap], ['--reviewed'], []]) {
    const again = await world.pawl('ledger', 'clear', ...named)
    expect(again).toMatchObject({ code: named.length === 2 ? 1 : 2, stdout: expect.stringContaining('key-of-a-lost-call') as string, stderr: expect.stringMatching(shown) as string })
    expect(again.stdout).toMatch(/gap-workers +1 worker did not say yet what it remembers: cut-off on far \(pid 7, last heard from/)
    expect(again.stderr).not.toContain(`--reviewed ${gap}`)
  }
  const [, now = ''] = shown.exec((await world.pawl('ledger', 'clear')).stderr) ?? []
  expect(await world.json('ledger', 'clear', '--reviewed', now)).toMatchObject({ wasTrusted: false, cleared: true, gap: { digest: now, lostCalls: [lost], broughtBack: 0, waiting: expect.any(Number) as number } })
  await world.ledger.query(`delete from pawl.workers where name = 'cut-off'`)
  const [row] = await world.ledger.query<{ cleared_by: string }>('select cleared_by from pawl.ledger')
  expect(row?.cleared_by).toMatch(/^cli/)
  expect((await world.pawl('ledger', 'clear', '--reviewed')).stdout).toContain('nothing to clear')
})

test('of many lost calls the doctor shows some and says where all are; the clearing shows all', async () => {
  const { history } = await readIdentity(world.ledger)
  await noteLoss(world.ledger, history, 'promoted', { lost: Array.from({ length: 25 }, (_, n) => ({ run: newRunId(), item: 1, key: `lost-${n}-`, tool: 'mail', effect: 'non-idempotent', at: new Date().toISOString(), why: 'missing' })) })
  const [diagnosed, cleared] = await Promise.all([world.pawl('doctor'), world.pawl('ledger', 'clear')])
  expect(diagnosed.stdout).toMatch(/5 more calls could not be brought back\n +→ See all of them: pawl ledger clear\n/)
  expect(diagnosed.stdout).not.toMatch(/--reviewed/)
  expect([diagnosed, cleared].map(({ stdout }) => stdout.match(/lost-\d+-/g)?.length)).toEqual([20, 25])
  await clearLedger(world.ledger, 'ann', (await readGap(world.ledger)).digest)
})

test('audit finds nothing in a sound ledger and names what is wrong in a corrupt one, with exit 1', async () => {
  const sound = await world.pawl('audit')
  expect(sound.stdout).toMatch(/^0 violations \(\d+ invariants checked, \d+ need the oracle/)
  expect(sound.code).toBe(0)
  const [row] = await world.ledger.query<{ id: string }>('select id from pawl.runs')
  await world.ledger.query('delete from pawl.runs')
  const corrupt = await world.child('audit')
  expect(corrupt.stdout).toContain('nothing-missing (invariant 1)')
  expect(corrupt.stdout).toContain(row?.id)
  expect(corrupt.code).toBe(1)
})

describeRedis('doctor and Redis', (redisUrl) => {
  test('a Redis that answers is looked into: eviction and persistence', async () => {
    const outcome = await world.pawl('doctor', '--json', '--config', world.write('pawl.config.mjs', `export default { agents: [], queue: { backend: 'redis', url: ${JSON.stringify(redisUrl)} } }`))
    expect(levelsOf(outcome)).toMatchObject({ queue: 'ok' })
    expect(Object.keys(levelsOf(outcome))).toEqual(expect.arrayContaining(['redis-version', 'redis-eviction', 'redis-persistence']))
  })

  test('a Redis that is down is named by its host', async () => {
    const outcome = await world.pawl('doctor', '--config', world.write('down.config.mjs', `export default { agents: [], queue: { backend: 'redis', url: 'redis://:geheim@127.0.0.1:1' } }`))
    expect(outcome.code).toBe(1)
    expect(outcome.stdout).toMatch(/fail +queue +.*127\.0\.0\.1:1/)
    expect(outcome.stdout + outcome.stderr).not.toContain('geheim')
  })
})
