/** Fast forms of cases of the classes I, J and L in which workers die, drain or lose their ledger: each on a ground of its own. */
import { describe, expect, test, vi } from 'vitest'
import { onGround } from './case-ground.ts'
import { fastServices } from './fast-services.testsuite.ts'
import { case85 } from './i-closing/case-85-wake-up-lost.ts'
import { case88 } from './i-closing/case-88-driver-killed.ts'
import { case90, groundFor90 } from './j-executors/case-90-stale-list.ts'
import { case92 } from './j-executors/case-92-rolling-restart.ts'
import { case95 } from './j-executors/case-95-error-text-in-an-argument.ts'
import { case104 } from './l-process-life/case-104-stopped-in-hand.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const services = fastServices()

describe.concurrent('apart from each other', () => {
  test('case 85: a run closes once the ledger is back that was away exactly when it was to close', async () => {
    expect((await case85(services, { awayMs: 700 })).problems).toEqual([])
  })

  test('case 88: a run whose driver was killed can be cancelled with nobody there, and another driver goes on with it', async () => {
    expect((await onGround(services, { workers: 1 }, (ground, found) => case88(ground, found))).problems).toEqual([])
  })

  test('case 90: of three recoverers that were told of the same unsettled calls each call has one', async () => {
    expect((await onGround(services, groundFor90(20), (ground, found) => case90(ground, found, { calls: 20, recoverers: 3 }))).problems).toEqual([])
  })

  test('case 92: workers of one name that are replaced under load claim nothing while they drain, and every call is made once', async () => {
    expect((await onGround(services, { workers: 0, concurrency: 4 }, (ground, found) => case92(ground, found, { items: 8, restarts: 2 }))).problems).toEqual([])
  })

  test('case 95: an error that was caught and handed on is the same on replay, word for word', async () => {
    expect((await onGround(services, {}, (ground, found) => case95(ground, found))).problems).toEqual([])
  })

  test('case 104: a worker that is told to stop in mid-call begins nothing more, keeps its grace, and loses neither the call nor the work it wanted to add', async () => {
    expect((await case104(services, { callMs: 1_200, graceMs: 20_000, shortGraceMs: 200 })).problems).toEqual([])
  })
})
