import { afterEach, expect, test, vi } from 'vitest'
import { startWatch } from './watch.ts'

afterEach(() => { vi.restoreAllMocks() })

test('a machine that was suspended cannot shorten what has elapsed: the wall clock tells', () => {
  const watch = startWatch()
  const now = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(now + 3_600_000)
  expect(watch.elapsedMs()).toBeGreaterThanOrEqual(3_600_000)
})

test('a wall clock that is set back cannot shorten it either', async () => {
  const watch = startWatch()
  await new Promise((resolve) => setTimeout(resolve, 30))
  const now = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(now - 3_600_000)
  expect(watch.elapsedMs()).toBeGreaterThanOrEqual(25)
})

test('a wall clock that is set forward cannot end a wait early', () => {
  const watch = startWatch()
  const now = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(now + 3_600_000)
  expect(watch.surelyElapsedMs()).toBeLessThan(60_000)
})

test('a watch that begins later has elapsed less, to the few milliseconds the uptime is kept for', async () => {
  const first = startWatch()
  await new Promise((resolve) => setTimeout(resolve, 30))
  const second = startWatch()
  expect(first.elapsedMs() - second.elapsedMs()).toBeGreaterThanOrEqual(20)
})
