/** What the command says when it is used wrongly, or cannot reach what it needs: an exit code, one sentence with the way out, and no secret. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openWorld, type World } from './cli/world.testsuite.ts'
import { callPawl } from './cli/call-pawl.testsuite.ts'
import { failureSchema } from './cli/json-contract.testsuite.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => { await world.close() })

/** In this process, and without a config, which these refusals do not need. */
const call = (args: readonly string[]) => callPawl(args, { cwd: world.folder, env: { DATABASE_URL: world.url } })

const unknownRun = '01a22825-62eb-7115-9249-dfba67e4f7f7'

describe('what is typed wrongly ends with 2 and names what is wrong', () => {
  const mistakes: [string, string[], string][] = [
    ['no command', [], 'Usage: pawl'],
    ['an unknown command, with the nearest one', ['run', 'lst'], 'Did you mean list?'],
    ['a missing argument', ['run', 'show'], "missing required argument 'run'"],
    ['a status that is none', ['run', 'list', '--status', 'done'], 'Allowed choices are'],
    ['a limit that is no number', ['run', 'list', '--limit', 'many'], 'whole number from 1 to 1000'],
    ['a label without a value', ['run', 'start', 'notes', '--label', 'team'], '--label team=billing'],
    ['two values for a label of a new run', ['run', 'start', 'notes', '--label', 'team=red', '--label', 'team=blue'], '"team" was given "red" and "blue"'],
    ['two values for a label to look for', ['run', 'list', '--label', 'team=red', '--label', 'order=1', '--label', 'team=blue'], '"team" was given "red" and "blue"'],
    ['input that is not JSON', ['run', 'start', 'notes', '--input', '{lines: 1}'], '--input is not JSON'],
    ['input with a number that would be changed', ['run', 'start', 'notes', '--input', '{"lines":9007199254740993}'], '--input: The value holds the number 9007199254740993'],
    ['an input file that is not there', ['run', 'start', 'notes', '--input', '@gone.json'], 'gone.json cannot be read (ENOENT)'],
    ['an items file that is not there', ['run', 'start', 'mails', '--items', 'gone.ndjson', '--agent-version', '2'], 'gone.ndjson cannot be read (ENOENT)'],
    ['both places', ['run', 'list', '--url', 'http://127.0.0.1:1', '--database', 'postgres://x'], 'not both'],
    ['a database that is no Postgres', ['run', 'list', '--database', 'mysql://x'], 'postgres://user:password@host'],
    ['a producer that is no URL', ['run', 'list', '--url', 'localhost'], 'http://127.0.0.1:3000'],
    ['two answers', ['settle', unknownRun, '1', '--happened', '--did-not'], 'Give one of'],
    ['an action that is no number', ['settle', unknownRun, 'first', '--did-not'], 'whole number'],
    ['an answer that is not JSON', ['answer', unknownRun, '1', '{lines: 1}'], '<json> is not JSON'],
    ['a question that is no number', ['answer', unknownRun, 'first', 'true'], 'The question must be a whole number'],
    ['a level that is none', ['mcp', '--allow', 'all'], 'Allowed choices are read, run, operate'],
    ['half of what was looked at', ['settle', unknownRun, '1', '--did-not', '--attempt', '1'], 'go together'],
    ['an item verb without its item', ['run', 'fail', unknownRun], '--item <seq>'],
    ['an option that is none', ['run', 'list', '--limt', '1'], "unknown option '--limt'"],
  ]

  test.each(mistakes)('%s', async (_, args, says) => {
    const { code, stdout, stderr } = await call(args)
    expect(stderr).toContain(says)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test.each(mistakes.filter(([, args]) => args.length > 0))('%s, with --json: one line of JSON', async (_, args, says) => {
    const { code, stdout, stderr } = await call([...args, '--json'])
    expect(stderr).toMatch(/^.*\n$/)
    expect(failureSchema.parse(JSON.parse(stderr))).toMatchObject({ code: 'USAGE', message: expect.stringContaining(says) as string })
    expect([code, stdout]).toEqual([2, ''])
  })

  test.each([['-o', 'json'], ['-ojson'], ['--output', 'json'], ['--output=json']])('JSON is what %s %s asks for as well', async (...asked) => {
    const { code, stderr } = await call(['run', 'list', ...asked, '--limit', '0'])
    expect([code, JSON.parse(stderr)]).toMatchObject([2, { code: 'USAGE' }])
  })

  test('after "--" it is no option: a person is spoken to', async () => {
    const { code, stderr } = await call(['run', 'show', unknownRun, '--limt', '--', '--json'])
    expect([code, stderr]).toEqual([2, expect.stringContaining("error: unknown option '--limt'")])
  })
})

describe('what cannot be done ends with 1 and says the way out', () => {
  test.each<[string, string[], string]>([
    ['an agent whose config is not known', ['run', 'start', 'notes', '--input', '{}'], '--agent-version'],
    ['an unknown run to show', ['run', 'show', unknownRun], `There is no run "${unknownRun}"`],
    ['an unknown run to watch', ['run', 'watch', unknownRun], 'There is no run'],
    ['an unknown run to pause', ['run', 'pause', unknownRun], 'There is no run'],
    ['an unknown run to audit', ['audit', unknownRun], 'There is no run'],
    ['an unknown run to settle', ['settle', unknownRun, '1', '--did-not'], 'There is no run'],
    ['a question of an unknown run', ['answer', unknownRun, '1', 'true'], 'There is no run'],
    ['a config that is not there', ['tools', '--config', 'gone.ts'], 'gone.ts'],
    ['a database that is down, by its host and without its password', ['run', 'list', '--database', 'postgres://ann:geheim@127.0.0.1:1/x'], "Postgres at 127.0.0.1:1 did not answer"],
    ['a producer that is down, by its host', ['run', 'list', '--url', 'http://127.0.0.1:1'], 'The producer at 127.0.0.1:1 did not answer'],
  ])('%s', async (_, args, says) => {
    const { code, stdout, stderr } = await call(args)
    expect(stderr).toContain(says)
    expect(stdout).toBe('')
    expect(stderr).not.toContain('geheim')
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(code).toBe(1)
  })

  test('a request that does not fit the agent is refused by its name or field, in a process of its own', async () => {
    const [agent, input, items] = await Promise.all([
      world.child('run', 'start', 'nobody', '--input', '{}'), world.child('run', 'start', 'notes', '--input', '{"lines":"many"}'), world.child('run', 'start', 'mails'),
    ])
    expect([agent.code, input.code, items.code]).toEqual([1, 1, 1])
    expect(agent.stderr).toContain('Known: "notes", "mails", "asks", "pays"')
    expect(input.stderr).toContain('input.lines')
    expect(items.stderr).toContain('--items items.ndjson')
  })

  test('a database that does not exist is named as such', async () => {
    const url = new URL(world.url)
    url.pathname = '/nothing_here'
    const { code, stderr } = await call(['run', 'list', '--database', url.href])
    expect(stderr).toContain('"nothing_here" does not exist')
    expect(stderr).toContain('Create the database')
    if (url.password !== '') expect(stderr).not.toContain(url.password)
    expect(code).toBe(1)
  })

  test('nowhere to go names every way to say where', async () => {
    const { code, stderr } = await callPawl(['run', 'list'], { cwd: world.folder })
    for (const way of ['--url', 'PAWL_URL', '--database', 'DATABASE_URL', 'pawl.config', 'pawl dev']) expect(stderr).toContain(way)
    expect(code).toBe(1)
  })

  test('with --json a failure is one JSON line on stderr, and --verbose adds where it came from', async () => {
    const { code, stdout, stderr } = await world.pawl('run', 'show', unknownRun, '--json', '--verbose')
    const [first = '', ...rest] = stderr.split('\n')
    expect(JSON.parse(first)).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('There is no run') as string })
    expect(rest.join('\n')).toMatch(/\n\s+at /)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  test('a bad line in an items file is named by its number, and nothing is started', async () => {
    const outcomes = await Promise.all(([
      ['{"key":"a","payload":{"to":"ann"}}\n{"key":"b"', 'line 2 is not JSON'],
      ['{"key":"a","payload":9007199254740993}', 'line 1 holds the number 9007199254740993'],
      ['{"key":"a","payload":{"to":"ann"}}\n\n{"key":7,"payload":{}}', 'line 3: key'],
      ['{"key":"a","payload":{"to":"ann"}}\n{"key":"b","payload":{"to":5}}', 'payload.to'],
    ] as const).map(async ([text, says], i) => ({ says, ...(await world.pawl('run', 'start', 'mails', '--items', world.write(`items-${i}.ndjson`, text))) })))
    for (const { says, code, stderr } of outcomes) {
      expect(stderr).toContain(says)
      expect(code).toBeGreaterThan(0)
    }
    expect(await world.ledger.query('select id from pawl.runs')).toEqual([])
  })
})

describe('text of others cannot act on the terminal, in no sentence that says why something failed', () => {
  const evil = '\u001b[2J\u202Egood\r\npawl: all is well'
  const named = '⟨U+001B⟩[2J⟨U+202E⟩good'

  test.each<[string, () => string[]]>([
    ['the key of an item that is refused', () => ['run', 'start', 'mails', '--items', world.write('evil.ndjson', JSON.stringify({ key: evil, payload: { to: 5 } }))]],
    ['the same, with --verbose', () => ['run', 'start', 'mails', '--verbose', '--items', world.write('evil.ndjson', JSON.stringify({ key: evil, payload: { to: 5 } }))]],
    ['a file’s name', () => ['run', 'start', 'mails', '--items', evil]],
    ['what commander says about an option', () => ['run', 'list', `--${evil}`]],
    ['what commander says about a choice', () => ['run', 'list', '--status', evil]],
    ['why a config does not load', () => ['tools', '--config', world.write('evil.config.mjs', `throw new Error(${JSON.stringify(evil)})`)]],
    ['the same in the doctor', () => ['doctor', '--config', world.write('evil.config.mjs', `throw new Error(${JSON.stringify(evil)})`)]],
    ['an id among several', () => ['run', 'pause', evil, unknownRun]],
  ])('%s', async (_, args) => {
    const { code, stdout, stderr } = await world.pawl(...args())
    const said = stdout + stderr
    expect(said).toContain(named)
    expect(said.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(said).not.toMatch(/^pawl: all is well/m)
    expect(code).toBeGreaterThan(0)
  })

  test('with --json it is in the message as it is: JSON is for programs', async () => {
    const { stderr } = await world.pawl('run', 'start', 'mails', '--json', '--items', world.write('evil.ndjson', JSON.stringify({ key: evil, payload: { to: 5 } })))
    expect((JSON.parse(stderr) as { message: string }).message).toContain(evil)
  })
})

test('before the first migration every command that reads runs names "pawl migrate", which then says what it applied', async () => {
  const fresh = await openWorld({ migrate: false })
  try {
    const before = await fresh.pawl('run', 'list')
    expect(before.stderr).toContain('Run "pawl migrate"')
    expect(before.code).toBe(1)
    const diagnosed = await fresh.pawl('doctor')
    expect(diagnosed.stdout).toMatch(/fail +schema/)
    expect(diagnosed.stdout).toContain('→ pawl migrate')
    expect(diagnosed.code).toBe(1)
    const first = await fresh.json<{ applied: string[] }>('migrate')
    expect(first.applied).toContain('verbs')
    const second = await fresh.pawl('migrate')
    expect(second.stdout).toContain('is up to date')
    expect(second.code).toBe(0)
  } finally {
    await fresh.close()
  }
})
