/** `pawl chaos` with an agent that is right and with one whose "idempotent" tool is none: real workers, really killed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ChaosVerdict } from './commands/chaos.ts'
import { callPawl } from './cli/call-pawl.testsuite.ts'
import { startPawl } from './cli/command.testsuite.ts'
import { mustBePromised } from './cli/json-contract.testsuite.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'

vi.setConfig({ testTimeout: 180_000 })
const config = fileURLToPath(new URL('./cli/chaos-config.testsuite.ts', import.meta.url))
let world: World
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => { await world.close() })

test('workers are killed while they call, what was done twice is found in the receipts, and what was there before is not counted', async () => {
  const file = join(world.folder, 'receipts.ndjson')
  world.write('receipts.ndjson', '{"operation":"slow.write","subject":"old"}\n{"operation":"slow.write","subject":"old"}\n')
  const { code, stdout, stderr } = await startPawl(['chaos', 'slow', '--config', config, '--input', '{"lines":3}', '--kills', '1', '--seed', '2', '--processes', '1', '--receipts', file, '--json'], { cwd: world.folder, env: world.env }).ended
  expect(stderr).toBe('')
  mustBePromised('chaos', stdout)
  const verdict = JSON.parse(stdout) as ChaosVerdict
  expect(verdict).toMatchObject({ status: 'completed', seed: 2, kills: 1, items: 3, lost: 0, violations: 0, doubts: 0 })
  expect(verdict.takeovers).toBeGreaterThan(0)
  expect(verdict.inFlight).toBeGreaterThan(0)
  // Its receiver acts first and answers late, and keeps no key in mind: every call in flight at a death is done again.
  const done = readFileSync(file, 'utf8').trim().split('\n').length - 2
  expect(verdict.duplicates).toBe(done - 3)
  expect(verdict).toMatchObject({ ok: verdict.duplicates === 0 })
  expect(code).toBe(verdict.duplicates === 0 ? 0 : 1)
  expect(verdict.duplicates).toBeGreaterThan(0)
})

test('production is refused by name, and so is a file of receipts that is none', async () => {
  const inProduction = await callPawl(['chaos', 'slow', '--config', config], { cwd: world.folder, env: { ...world.env, NODE_ENV: 'production' } })
  expect(inProduction).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--i-know-this-is-production') as string })
  const noFile = await world.pawl('chaos', 'slow', '--config', config, '--receipts', world.folder)
  expect(noFile).toMatchObject({ code: 2, stderr: expect.stringContaining('--receipts') as string })
})
