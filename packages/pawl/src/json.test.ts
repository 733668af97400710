/** `--json` keeps its promise: every command has an entry in the contract, prints what the entry says and nothing beside it, and the docs have both. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readGap } from '@pawl/ledger'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contractAsJsonSchema, failureSchema, jsonContract, mustBePromised, withoutJson } from './cli/json-contract.testsuite.ts'
import { buildProgram } from './cli/program.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'

vi.setConfig({ testTimeout: 180_000 })
const root = new URL('../../..', import.meta.url).pathname
let world: World
beforeAll(async () => {
  world = await openWorld({ migrate: true })
  await world.startFleet()
})
afterAll(async () => { await world.close() })

/** Commands that stay: what they print when they are up is looked at where they are started. */
const elsewhere: Readonly<Record<string, string>> = { dev: 'services.test.ts', worker: 'services.test.ts', producer: 'services.test.ts', dashboard: 'services.test.ts', chaos: 'chaos.test.ts' }
const looked = new Set<string>()

async function look(command: string, ...args: string[]): Promise<string> {
  // The library behind completion prints through the console, which vitest keeps for itself.
  const { stdout, stderr } = await world[command === 'completion' ? 'child' : 'pawl'](...command.split(' '), ...args, '--json')
  expect(stderr, command).toBe('')
  mustBePromised(command, stdout)
  looked.add(command)
  return stdout
}

const idOf = (stdout: string): string => (JSON.parse(stdout.split('\n')[0] ?? '') as { id: string }).id
const itemsOf = (...payloads: object[]): string => world.write('some.ndjson', payloads.map((payload, i) => JSON.stringify({ key: String(i), payload })).join('\n'))

test('runs: started, listed, shown, watched, steered', async () => {
  const id = idOf(await look('run start', 'notes', '--input', '{"lines":2}', '--watch'))
  await look('run watch', id)
  await look('run list')
  await look('run show', id)
  await look('run items', id)
  const { entries: [call] } = JSON.parse(await look('run actions', id)) as { entries: { id: number }[] }
  await look('run action', id, String(call?.id))
  await look('run brief', id, '1')
  await look('run export', id)
  const held = idOf(await look('run start', 'mails', '--items', itemsOf({ to: 'doubt x' })))
  await look('run watch', held)
  await look('run pause', held)
  await look('run budget', held, '--turns', '5')
  await look('run resume', held, '--dry-run')
  await look('run resume', held)
  await look('run repin', held, '--to', '2', '--dry-run')
  await look('run repin', held, '--to', '3', '--force')
  await look('run cancel', held)
  await look('run compensate', held, '--dry-run')
  await look('run compensate', id, held)
})

test('what waits for a person: each kind of entry, and its answer', async () => {
  const asks = idOf(await look('run start', 'asks', '--items', itemsOf({ what: 'rain' })))
  const mails = idOf(await look('run start', 'mails', '--items', itemsOf({ to: 'doubt y' })))
  const pays = idOf(await look('run start', 'pays', '--items', itemsOf({ to: 'ann' }, { to: 'bob' })))
  for (const id of [asks, mails, pays]) await look('run watch', id)
  const { entries } = JSON.parse(await look('inbox')) as { entries: { kind: string; runId: string; commands: string[] }[] }
  const waiting = (runId: string): string[] => entries.find((entry) => entry.runId === runId)?.commands[0]?.split(' ').slice(1) ?? []
  await look('answer', ...waiting(asks).slice(1, 3), '{"lines":1}')
  await look('settle', ...waiting(mails).slice(1, 3), '--happened', '--result', '{"id":"seen"}')
  const [, run = '', action = ''] = waiting(pays)
  await look('approve', run, action)
  await look('reject', run, '--all')
  const crashed = idOf(await look('run start', 'pays', '--items', itemsOf({ to: 'carl' })))
  await look('run watch', crashed)
  await world.ledger.query(`update pawl.items set blocked_reason = 'crash_loop', blocked_detail = null where run_id = $1 and seq = 1`, [crashed])
  await look('inbox', '--run', crashed)
  await look('run fail', crashed, '--item', '1')
})

test('the ground: the schema, the tools, the audit, the doctor, what is old', async () => {
  await look('migrate')
  await look('tools')
  await look('tools', '--lock', '--lock-file', 'some.lock.json')
  await look('tools', '--check', '--lock-file', 'some.lock.json')
  await look('audit')
  await look('doctor')
  await look('ledger clear')
  await world.ledger.query(`update pawl.ledger set timeline = '000000FF'`)
  await look('doctor')
  await look('ledger clear', '--reviewed', (await readGap(world.ledger)).digest)
  await look('prune', '--older-than', '1d', '--dry-run')
  await look('init', 'new')
  await look('completion', 'bash')
})

test('a failure is one line on stderr, in one shape', async () => {
  for (const args of [['run', 'show', 'nothing'], ['run', 'list', '--url', 'http://127.0.0.1:1'], ['settle', 'r', 'x', '--abandon']]) {
    const { stdout, stderr, code } = await world.pawl(...args, '--json')
    expect([stdout, code === 0]).toEqual(['', false])
    failureSchema.parse(JSON.parse(stderr))
  }
})

test('every command was looked at here or is where it is started, and is in the contract and in docs/cli.md', () => {
  const commands = leavesOf(buildProgram()).filter((command) => !(withoutJson as readonly string[]).includes(command))
  expect(commands.toSorted()).toEqual(Object.keys(jsonContract).toSorted())
  expect(commands.filter((command) => !looked.has(command) && elsewhere[command] === undefined)).toEqual([])
  for (const [command, file] of Object.entries(elsewhere)) expect(readFileSync(join(root, 'packages/pawl/src', file), 'utf8')).toContain(`mustBePromised('${command}'`)
  const page = readFileSync(join(root, 'docs', 'cli.md'), 'utf8')
  expect([...commands, ...withoutJson].filter((command) => !page.includes(`\`pawl ${command}`))).toEqual([])
})

test('docs/cli.schema.json is the contract (vitest -u writes it)', async () => {
  await expect(contractAsJsonSchema()).toMatchFileSnapshot(join(root, 'docs', 'cli.schema.json'))
})

function leavesOf(command: Command, path = ''): string[] {
  return command.commands.filter((each) => each.name() !== 'complete').flatMap((each) => (each.commands.length > 0 ? leavesOf(each, `${path}${each.name()} `) : [`${path}${each.name()}`]))
}
