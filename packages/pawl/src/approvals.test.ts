/** A person says yes or no to calls that wait for it: to what was looked at, once, one by one or all of them. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { ApprovalDecision, StartedRun } from './index.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => {
  world = await openWorld({ migrate: true })
  await world.startFleet()
})
afterAll(async () => { await world.close() })
beforeEach(() => { rmSync(join(world.folder, 'sent.txt'), { force: true }) })

const sent = (): string[] => {
  try {
    return readFileSync(join(world.folder, 'sent.txt'), 'utf8').trim().split('\n').toSorted()
  } catch {
    return []
  }
}

/** A run whose calls all wait for a yes. */
async function waitingRun(...names: string[]): Promise<{ id: string; commands: string[][] }> {
  const file = world.write('pays.ndjson', names.map((to) => JSON.stringify({ key: to, payload: { to } })).join('\n'))
  const { id } = await world.json<StartedRun>('run', 'start', 'pays', '--items', file)
  const watched = await world.pawl('run', 'watch', id)
  expect(watched.code).toBe(3)
  expect(watched.stdout).toMatch(new RegExp(`pawl approve ${id} \\d+ --digest [\\w-]+`))
  const { entries } = await world.json<{ entries: { commands: string[] }[] }>('inbox', '--run', id)
  return { id, commands: entries.map((entry) => entry.commands) }
}

/** A command as the inbox prints it, typed. */
const type = (command = '', ...more: string[]) => world.pawl(...command.split(' ').slice(1), ...more)

test('the command the inbox prints approves that call, the run goes on, and whoever comes later is told who was first', async () => {
  const { id, commands: [[yes, no] = []] } = await waitingRun('ann')
  expect(sent()).toEqual([])
  const approved = await type(yes, '--note', 'looked up', '--json')
  expect(JSON.parse(approved.stdout)).toMatchObject({ shown: [], decisions: [{ outcome: 'approved', tool: 'pay', decidedBy: expect.stringMatching(/^cli/) as string, note: 'looked up' }] })
  expect([approved.code, approved.stderr]).toEqual([0, ''])
  expect((await world.pawl('run', 'watch', id)).code).toBe(0)
  expect(sent()).toEqual(['paid ann'])
  const late = await type(no)
  expect([late.code, late.stdout]).toEqual([1, ''])
  expect(late.stderr).toMatch(/approved by cli.* at 20/)
  expect(sent()).toEqual(['paid ann'])
})

test('a no is never sent; the item fails with it and the run says so', async () => {
  const { id, commands: [[, no] = []] } = await waitingRun('bob')
  const rejected = await type(no, '--note', 'not this one')
  expect([rejected.code, rejected.stdout]).toEqual([0, expect.stringMatching(/^Action \d+ of run .*: rejected by cli.* at /)])
  expect((await world.pawl('run', 'watch', id)).code).toBe(1)
  expect((await world.pawl('run', 'items', id)).stdout).toContain('not this one')
  expect(sent()).toEqual([])
})

test('another call than the one that was looked at is refused, and nothing is sent', async () => {
  const { id, commands: [[yes = ''] = []] } = await waitingRun('carl')
  const other = await type(yes.replace(/--digest .*/, '--digest another'))
  expect([other.code, other.stdout]).toEqual([1, ''])
  expect(other.stderr).toContain(`pawl inbox --run ${id}`)
  expect(await world.json('run', 'show', id)).toMatchObject({ blockedReasons: { approval: 1 } })
  expect(sent()).toEqual([])
})

test('--all lists what it decides and decides that; with --tool only calls of that tool', async () => {
  const { id } = await waitingRun('dora', 'emil', 'fritz')
  const none = await world.pawl('approve', id, '--all', '--tool', 'mail.send')
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('no call of mail.send')])
  const all = await world.pawl('approve', id, '--all', '--tool', 'pay')
  expect(all.code).toBe(0)
  for (const name of ['dora', 'emil', 'fritz']) expect(all.stdout).toContain(`{"to":"${name}"}`)
  expect(all.stdout.match(/: approved by/g)).toHaveLength(3)
  expect((await world.pawl('run', 'watch', id)).code).toBe(0)
  expect(sent()).toEqual(['paid dora', 'paid emil', 'paid fritz'])
  const again = await world.pawl('approve', id, '--all')
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('no call that waits for approval')])
})

test('one action without its digest is shown, and decided as shown', async () => {
  const { id, commands: [[yes = ''] = []] } = await waitingRun('gerda')
  const [, , , action = ''] = yes.split(' ')
  const decided = await world.json<{ shown: unknown[]; decisions: ApprovalDecision[] }>('reject', id, action)
  expect([decided.shown.length, decided.decisions[0]?.outcome]).toEqual([1, 'rejected'])
})

test.each<[string, string[], string]>([
  ['neither an action nor --all', ['approve', 'r'], 'Name one action, or give --all'],
  ['an action and --all', ['reject', 'r', '1', '--all'], 'Name one action, or give --all'],
  ['--tool without --all', ['approve', 'r', '1', '--tool', 'pay'], '--tool goes with --all only'],
  ['--digest with --all', ['approve', 'r', '--all', '--digest', 'd'], '--digest goes with one action only'],
  ['an action that is no number', ['approve', 'r', 'first'], 'The action must be a whole number'],
])('%s is refused as typed wrongly', async (_, args, says) => {
  const { code, stdout, stderr } = await world.pawl(...args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(says)
})
