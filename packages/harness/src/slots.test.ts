import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Slots } from './slots.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Taken now, or still waiting. */
const isTaken = async (slot: Promise<unknown>): Promise<boolean> => await Promise.race([slot.then(() => true), new Promise<false>((resolve) => setImmediate(() => resolve(false)))])

test('a suspect waits until the process is empty, and whoever comes meanwhile waits behind it', async () => {
  const slots = new Slots(3)
  const release = await slots.take()
  const alone = slots.takeAlone(60_000)
  const next = slots.take()
  expect([await isTaken(alone), await isTaken(next)]).toEqual([false, false])
  release()
  const releaseAll = await alone
  expect(await isTaken(next)).toBe(false)
  releaseAll()
  expect(await isTaken(next)).toBe(true)
})

test('an attempt that hangs does not stop the process for ever: after its patience the suspect takes a slot beside it, and others follow', async () => {
  const slots = new Slots(3)
  await slots.take()
  const alone = slots.takeAlone(1_000)
  const next = slots.take()
  vi.advanceTimersByTime(999)
  expect([await isTaken(alone), await isTaken(next)]).toEqual([false, false])
  vi.advanceTimersByTime(1)
  expect([await isTaken(alone), await isTaken(next)]).toEqual([true, true])
})

test('a suspect that goes on and on, or hangs, has the process to itself for its patience only', async () => {
  const slots = new Slots(2)
  const release = await slots.takeAlone(1_000)
  const next = slots.take()
  vi.advanceTimersByTime(999)
  expect(await isTaken(next)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await isTaken(next)).toBe(true)
  const third = slots.take()
  expect(await isTaken(third)).toBe(false)
  release()
  expect(await isTaken(third)).toBe(true)
})

test('the time of one suspect does not end the next one\'s', async () => {
  const slots = new Slots(2)
  const release = await slots.takeAlone(1_000)
  vi.advanceTimersByTime(600)
  release()
  await slots.takeAlone(1_000)
  const next = slots.take()
  vi.advanceTimersByTime(500)
  expect(await isTaken(next)).toBe(false)
})
