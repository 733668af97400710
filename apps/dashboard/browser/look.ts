/** What a careful reader would find on a page, whatever it shows. */
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** Violations of accessibility, each as a line that names what and where. */
export async function axeOf(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target.join(' ')} (${failureSummary ?? ''})`))
}

/** Runs in the page, whose globals are not this file's: for so long nothing has grown or shrunk. */
const stillFor = `(ms) => {
  const height = document.querySelector('main')?.scrollHeight ?? 0
  if (globalThis.pawlSeen?.height !== height) globalThis.pawlSeen = { height, at: performance.now() }
  return performance.now() - globalThis.pawlSeen.at > ms
}`

/** By how many pixels the page can be scrolled sideways. */
export const sidewaysOf = async (page: Page): Promise<number> => await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** The page is there, has asked for what it shows, and what it shows no longer grows. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('[aria-label="Loading"]').waitFor({ state: 'detached' })
  await page.waitForFunction(stillFor, 400, { polling: 100, timeout: 20_000 })
}
