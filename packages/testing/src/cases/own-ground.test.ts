/** Fast forms of cases of the classes I, J and L in which workers die, drain or lose their ledger: one after the other, each with workers of its own. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { fastServices } from './fast-services.testsuite.ts'
import { Findings } from './findings.ts'
import { behindDoor, case85 } from './i-closing/case-85-wake-up-lost.ts'
import { case88 } from './i-closing/case-88-driver-killed.ts'
import { case90 } from './j-executors/case-90-stale-list.ts'
import { case92 } from './j-executors/case-92-rolling-restart.ts'
import { case95 } from './j-executors/case-95-error-text-in-an-argument.ts'
import { case104 } from './l-process-life/case-104-stopped-in-hand.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const services = fastServices()
let place: Awaited<ReturnType<typeof behindDoor>>
beforeAll(async () => { place = await behindDoor(services, { workers: 0, concurrency: 20 }) })
afterEach(async () => {
  place.ground.hook = () => {}
  await place.ground.stopAll()
})
afterAll(async () => { await place.close() })

async function problemsOf(workers: number, play: (found: Findings) => Promise<void>): Promise<readonly string[] | undefined> {
  const found = new Findings()
  for (let n = 0; n < workers; n++) await place.ground.startWorker()
  await play(found)
  return found.outcome().problems
}

test('case 85: a run closes once the ledger is back that was away exactly when it was to close', async () => {
  expect(await problemsOf(2, (found) => case85(place.ground, found, { door: place.door, awayMs: 700 }))).toEqual([])
})

test('case 88: a run whose driver was killed can be cancelled with nobody there, and another driver goes on with it', async () => {
  expect(await problemsOf(1, (found) => case88(place.ground, found))).toEqual([])
})

test('case 90: of three recoverers that were told of the same unsettled calls each call has one', async () => {
  expect(await problemsOf(1, (found) => case90(place.ground, found, { calls: 20, recoverers: 3 }))).toEqual([])
})

test('case 92: workers of one name that are replaced under load claim nothing while they drain, and every call is made once', async () => {
  expect(await problemsOf(0, (found) => case92(place.ground, found, { items: 8, restarts: 2 }))).toEqual([])
})

test('case 95: an error that was caught and handed on is the same on replay, word for word', async () => {
  expect(await problemsOf(2, (found) => case95(place.ground, found))).toEqual([])
})

test('case 104: a worker that is told to stop in mid-call begins nothing more, keeps its grace, and loses neither the call nor the work it wanted to add', async () => {
  expect(await problemsOf(0, (found) => case104(place.ground, found, { callMs: 1_200, graceMs: 20_000, shortGraceMs: 200 }))).toEqual([])
})
