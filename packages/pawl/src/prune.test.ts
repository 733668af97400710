/** `pawl prune` as people meet it: looked at first, by age, and what went is said by name. What may go is the ledger's test. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { PruneReport } from './commands/prune.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { StartedRun } from './index.ts'

vi.setConfig({ testTimeout: 120_000 })
let world: World
beforeAll(async () => {
  world = await openWorld({ migrate: true })
  await world.startFleet()
})
afterAll(async () => { await world.close() })

const start = ['run', 'start', 'notes', '--input', '{"lines":3}', '--key', 'once'] as const

async function oldRun(): Promise<string> {
  const { id } = await world.json<StartedRun>(...start)
  expect((await world.pawl('run', 'watch', id)).code).toBe(0)
  await world.ledger.query(`update pawl.runs set created_at = created_at - interval '40 days', finished_at = finished_at - interval '40 days' where id = $1`, [id])
  return id
}

test('a dry run says what would go and changes nothing; then it goes, and the same start finds that it was done and sends nothing', async () => {
  const id = await oldRun()
  const looked = await world.pawl('prune', '--older-than', '30d', '--dry-run')
  expect([looked.code, looked.stderr]).toEqual([0, ''])
  expect(looked.stdout).toBe(`1 run with 3 items ended more than 30d ago and is needed by nothing:\n  ${id}\n`)
  expect(await world.json('run', 'show', id)).toMatchObject({ status: 'completed' })
  const younger = await world.json<PruneReport>('prune', '--older-than', '60d')
  expect(younger).toMatchObject({ dryRun: false, pruned: { runs: 0, items: 0, ids: [] }, kept: {} })

  const pruned = await world.json<PruneReport>('prune', '--older-than', '30d')
  expect(pruned).toEqual({ dryRun: false, olderThanMs: 30 * 86_400_000, pruned: { runs: 1, items: 3, ids: [id] }, kept: {} })
  expect(await world.pawl('run', 'show', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('one that was pruned is gone') as string })
  expect(await world.json(...start)).toEqual({ id, isNew: false })
  expect(await world.pawl('audit')).toMatchObject({ code: 0 })
  expect((await world.pawl('prune', '--older-than', '30d')).stdout).toMatch(/^Nothing to remove/)
})

test('what is kept is counted by its reason, with what would give it up', async () => {
  const { id } = await world.json<StartedRun>('run', 'start', 'notes', '--input', '{"lines":0}')
  await world.pawl('run', 'watch', id)
  await world.ledger.query(`update pawl.runs set status = 'cancelled', finished_at = finished_at - interval '40 days' where id = $1`, [id])
  const kept = await world.pawl('prune', '--older-than', '30d', '--dry-run')
  expect(kept.stdout).toContain('1 run kept: it can still be resumed (--give-up resume)')
  const given = await world.json<PruneReport>('prune', '--older-than', '30d', '--give-up', 'resume', 'undo')
  expect(given.pruned.ids).toEqual([id])
})

test.each<[string, string[], number, string]>([
  ['no age', ['prune'], 2, 'pawl prune --older-than 30d --dry-run'],
  ['an age that is none', ['prune', '--older-than', 'long'], 1, '--older-than: "long" is not a duration'],
  ['less than an hour', ['prune', '--older-than', '5m'], 1, 'less than an hour ago'],
  ['something that cannot be given up', ['prune', '--older-than', '30d', '--give-up', 'keys'], 2, 'Allowed choices are undo, resume, residue'],
])('%s is refused', async (_, args, code, says) => {
  expect(await world.pawl(...args)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) as string })
})
