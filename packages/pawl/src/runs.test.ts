/** A person and a script work with runs: start, watch, look, answer, steer. The fleet works in this process. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Progress, StartedRun } from './index.ts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callPawl } from './cli/call-pawl.testsuite.ts'
import { startPawl } from './cli/command.testsuite.ts'
import { exitOf } from './cli/exit-codes.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => {
  world = await openWorld({ migrate: true })
  await world.startFleet()
})
afterAll(async () => { await world.close() })

const sent = (): string[] => readFileSync(join(world.folder, 'sent.txt'), 'utf8').trim().split('\n')

test('a run is started and watched to its end in one command: lines for people, exit 0; twice under one key it is one run', async () => {
  const start = ['run', 'start', 'notes', '--input', '{"lines":5}', '--key', 'monday', '--label', 'team=a', '--watch'] as const
  const first = await world.child(...start)
  expect(first.stderr).toBe('')
  expect(first.stdout).toMatch(/^Started run /)
  expect(first.stdout).toMatch(/is completed: 5\/5 done\.\n$/)
  expect(first.code).toBe(0)
  const again = await world.child(...start, '--json')
  const [started, ...progress] = again.stdout.trim().split('\n').map((line) => JSON.parse(line) as unknown)
  const { id, isNew } = started as StartedRun
  expect(isNew).toBe(false)
  expect(first.stdout).toContain(id)
  expect(progress.at(-1)).toMatchObject({ status: 'completed', done: 5, total: 5 } satisfies Partial<Progress>)
  expect(again.code).toBe(0)

  const [shown, listed, items, actions, other] = await Promise.all([
    world.pawl('run', 'show', id), world.json<{ entries: { id: string; labels: unknown }[] }>('run', 'list', '--label', 'team=a'), world.pawl('run', 'items', id),
    world.json<{ entries: { tool: string; status: string }[]; cursor: string | null }>('run', 'actions', id, '--limit', '2'), world.json<{ entries: unknown[] }>('run', 'list', '--label', 'team=b'),
  ])
  expect(shown.stdout).toContain(`${id}  notes@1  completed`)
  expect(shown.stdout).toMatch(/items +5\/5 done/)
  expect(listed.entries).toMatchObject([{ id, labels: { team: 'a' } }])
  expect(other.entries).toEqual([])
  expect(items.stdout).toMatch(/note 1 +done +1 +0 +{"length":6}/)
  expect(actions.entries).toMatchObject([{ tool: 'note.write', status: 'committed' }, { tool: 'note.write', status: 'committed' }])
  const next = await world.json<{ entries: unknown[] }>('run', 'actions', id, '--cursor', actions.cursor ?? '')
  expect(next.entries).toHaveLength(3)
  const brief = await world.pawl('run', 'brief', id, '2')
  expect(brief.stdout).toContain('# Task\n{"lines":5}')
  expect(brief.stdout).toMatch(/- note\.write · key .* · done · /)
})

test('where only a doubt is left, watch stops with exit 3 and prints the command that answers it, which does', async () => {
  const file = world.write('mails.ndjson', '{"key":"a","payload":{"to":"ann"}}\n{"key":"b","payload":{"to":"doubt\\u001b[31mbob"}}\n')
  const { id } = await world.json<StartedRun>('run', 'start', 'mails', '--items', file)
  const watched = await world.child('run', 'watch', id)
  expect(watched.code).toBe(3)
  const line = watched.stdout.split('\n').find((each) => each.includes('pawl settle')) ?? ''
  expect(line).toContain("--happened --result '<JSON>' --attempt 1 --evidence 1")
  const [, command = ''] = /^ *pawl (.*) --result/.exec(line) ?? []
  const words = [...command.split(' '), '--result', '{"id":"from the log"}']

  const people = await world.pawl('inbox', '--run', id)
  expect(people.stdout).toContain('{"gateway":"accepted"}')
  expect(people.stdout).not.toContain('\u001b')
  // Until a late send is out of the question, "it happened" is the only answer.
  await vi.waitFor(async () => {
    const { entries } = await world.json<{ entries: { commands: string[] }[] }>('inbox', '--run', id)
    expect(entries.map((entry) => entry.commands.length)).toEqual([3])
  }, { timeout: 60_000, interval: 200 })

  const [unanswered, stale, noResult] = await Promise.all([
    world.pawl(...words.slice(0, 3)), world.pawl(...words, '--attempt', '2', '--evidence', '1'), world.pawl(...words.slice(0, 4), '--attempt', '1', '--evidence', '1'),
  ])
  expect(unanswered).toMatchObject({ code: 2, stdout: expect.stringContaining('mail.send@1') as string, stderr: expect.stringContaining('--happened, --did-not or --abandon') as string })
  expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining('Look at it again') as string })
  expect(noResult).toMatchObject({ code: 1, stderr: expect.stringContaining('needs what the call returned') as string })

  const answered = await world.pawl(...words, '--attempt', '1', '--evidence', '1', '--note', 'seen in the log', '--json')
  expect(answered.stderr).toBe('')
  expect(JSON.parse(answered.stdout)).toMatchObject({ doubt: { kind: 'in_doubt' }, action: { status: 'committed', result: { id: 'from the log' } } })
  const [end, twice] = [await world.pawl('run', 'watch', id), await world.pawl(...words)]
  expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('is completed: 2/2 done') as string })
  expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('may be answered already') as string })
  expect(sent().filter((to) => to.startsWith('doubt'))).toHaveLength(1)
})

test('where an agent asks, watch stops with exit 3 and prints the command that answers; a bad answer is refused by its member, and only one answer counts', async () => {
  const file = world.write('asks.ndjson', '{"key":"a","payload":{"what":"rain"}}\n')
  const { id } = await world.json<StartedRun>('run', 'start', 'asks', '--items', file)
  const watched = await world.pawl('run', 'watch', id)
  expect(watched.code).toBe(3)
  const [, question = ''] = new RegExp(`pawl answer ${id} (\\d+) '<JSON>'`).exec(watched.stdout) ?? []
  const [people, scripts] = [await world.pawl('inbox', '--run', id), await world.json<{ entries: { commands: string[] }[] }>('inbox', '--run', id)]
  expect(people.stdout).toMatch(/^question {2}asks {2}run .* item 1 a\n {2}asks {6}How many lines about rain\?\n {2}answer {4}{"properties":{"lines":{.*"maximum":3/)
  expect(scripts.entries).toMatchObject([{ kind: 'question', commands: [`pawl answer ${id} ${question} '<JSON>'`] }])

  const bad = await world.pawl('answer', id, question, '{"lines":"two"}')
  expect(bad).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/answer\.lines: .*number.*Nothing was written/) as string })
  const good = await world.pawl('answer', id, question, '{"lines":2}')
  expect(good).toMatchObject({ code: 0, stdout: `Question ${question} is answered; item 1 of run ${id} goes on with it.\n` })
  expect(await world.pawl('answer', id, question, '{"lines":3}')).toMatchObject({ code: 1, stderr: expect.stringMatching(/was answered by cli:.* at 2/) as string })
  expect(await world.pawl('run', 'watch', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('is completed: 1/1 done') as string })
  expect(sent().filter((line) => line.startsWith('rain'))).toEqual(['rain 1', 'rain 2'])
})

test('a run with a failed item ends with exit 1 and the way on; dry runs change nothing; resume sends only the failed item round', async () => {
  const file = world.write('notes.ndjson', '{"key":"a","payload":{"line":"good"}}\n{"key":"b","payload":{"line":"bad"}}\n')
  const started = await world.pawl('run', 'start', 'notes', '--items', file, '--input', '{"lines":0}', '--watch')
  const [, id = ''] = /^Started run (\S+)\.$/m.exec(started.stdout) ?? []
  expect(started.stdout).toContain(`pawl run resume ${id} --dry-run`)
  expect(started.code).toBe(1)
  const [failed, preview, undo] = await Promise.all([
    world.pawl('run', 'items', id, '--status', 'failed'), world.pawl('run', 'resume', id, '--dry-run'), world.json<{ residue: unknown[] }>('run', 'compensate', id, '--dry-run'),
  ])
  expect(failed.stdout).toContain('this line cannot be written')
  expect(preview).toMatchObject({ code: 0, stdout: expect.stringContaining('send 1 item round again') as string })
  expect(undo.residue).toHaveLength(1)
  const before = await world.json<{ status: string; ending: number }>('run', 'show', id)
  expect(before).toMatchObject({ status: 'failed', ending: 1 })
  const resumed = await world.pawl('run', 'resume', id)
  expect(resumed.stdout).toContain('1 item went round again')
  expect((await world.pawl('run', 'watch', id, '--json')).code).toBe(1)
  expect(sent().filter((line) => line === 'good')).toHaveLength(1)
  const wrong = await world.pawl('run', 'pause', id)
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is failed') as string })
})

test('a run is paused, resumed and cancelled, and a cancelled one says how it goes on', async () => {
  const file = world.write('waiting.ndjson', '{"key":"d","payload":{"to":"doubt cancel"}}\n')
  const { id } = await world.json<StartedRun>('run', 'start', 'mails', '--items', file)
  expect((await world.pawl('run', 'watch', id)).code).toBe(3)
  expect((await world.pawl('run', 'pause', id)).stdout).toContain(`Run ${id} is running`)
  expect(await world.json('run', 'show', id)).toMatchObject({ paused: true })
  expect(await world.json('run', 'resume', id)).toMatchObject({ status: 'running', dryRun: false })
  expect((await world.pawl('run', 'cancel', id, '--reason', 'wrong list')).stdout).toContain('is cancelled')
  const watched = await world.pawl('run', 'watch', id)
  expect(watched.code).toBe(1)
  expect(watched.stdout).toContain(`pawl run resume ${id} --dry-run`)
})

test('Ctrl-C ends watching with exit 130 and says that the run goes on; the exit codes are those of the page', async () => {
  const file = world.write('nobody.ndjson', '{"key":"a","payload":{"line":"x"}}\n')
  const env = { DATABASE_URL: world.url }
  const started = await callPawl(['run', 'start', 'notes', '--agent-version', 'nobody-has-it', '--items', file, '--json'], { cwd: world.folder, env })
  const { id } = JSON.parse(started.stdout) as StartedRun
  const watching = startPawl(['run', 'watch', id], { cwd: world.folder, env })
  await watching.line((line) => line.includes('0/1 done'))
  watching.kill('SIGINT')
  const { code, stderr } = await watching.ended
  expect([code, stderr]).toEqual([exitOf.interrupted, expect.stringContaining(`The run goes on. Watch it again with: pawl run watch ${id}`)])
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  expect([...page.matchAll(/^\| (\d+) \|/gm)].map(([, n]) => Number(n))).toEqual(Object.values(exitOf).toSorted((a, b) => a - b))
})
