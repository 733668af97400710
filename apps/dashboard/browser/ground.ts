/**
 * What the browser tests stand on: the world of `packages/testing` with its fleet, a dashboard before it, and people who look at it in a Chromium. Of
 * everybody's page it is kept what went wrong in it: a test that ends with an error in the console has failed.
 */
import { randomBytes } from 'node:crypto'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
import { findChromium } from '../../../scripts/find-chromium.mjs'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { World } from '../../../packages/testing/src/window/world.ts'
import { hashPassword } from '../src/auth/password.ts'
import { startDashboard, type RunningDashboard } from '../src/index.ts'

const password = 'correct horse battery'
/** Leads to this machine, in the browser only. */
export const elsewhere = 'pawl.test'
/** May answer; may answer, too; may look. */
export const people = { olga: 'operate', otto: 'operate', rita: 'read' } as const
export type Person = keyof typeof people

export const wide = { width: 1280, height: 900 } as const
export const phone = { width: 390, height: 844 } as const

/** The browser itself writes down every answer that is no success; where a person was told no, that is no fault of the page. */
const isRefusal = (text: string, url: string): boolean => /status of (403|409|422) /.test(text) && /\/api\/v1\/runs\/[^/]+\/.*(approve|reject|approvals|settle|answer|pause|cancel)$/.test(url)

export interface Seat {
  readonly page: Page
  readonly context: BrowserContext
  /** What the console, the page and the network complained of, and that nobody has taken out yet. */
  readonly complaints: string[]
  goto(path: string): Promise<void>
}

export class Ground {
  private constructor(readonly world: World, readonly dashboard: RunningDashboard, readonly browser: Browser, private readonly database: FreshDatabase, private readonly env: NodeJS.ProcessEnv) {}

  readonly #contexts: BrowserContext[] = []
  readonly #others: RunningDashboard[] = []

  static async open(options: { readonly processes?: number } = {}): Promise<Ground> {
    const executablePath = findChromium()
    const database = await freshDatabase()
    const world = await World.open({ url: database.url, queue: { backend: 'postgres', url: database.url }, ...options })
    const hash = await hashPassword(password)
    const env = {
      PAWL_QUEUE: 'postgres', REDIS_URL: '', DATABASE_URL: database.url, PAWL_PORT: '0', PAWL_PRODUCER_URL: world.producer.url, PAWL_PRODUCER_TOKEN: world.producer.token, PAWL_LOG_LEVEL: 'silent',
      PAWL_DASHBOARD_USERS: Object.entries(people).map(([name, role]) => `${name}:${role}:${hash}`).join(','), PAWL_SESSION_SECRET: randomBytes(32).toString('hex'),
    }
    const dashboard = await startDashboard(env, { printLink: () => undefined })
    // By another name this machine is like any other host: a page over plain http from there is no secure context.
    const browser = await chromium.launch({ executablePath, args: [`--host-resolver-rules=MAP ${elsewhere} 127.0.0.1`] })
    return new Ground(world, dashboard, browser, database, env)
  }

  /** Another dashboard over the same ledger. */
  async startDashboard(more: NodeJS.ProcessEnv): Promise<RunningDashboard> {
    const dashboard = await startDashboard({ ...this.env, ...more }, { printLink: () => undefined })
    this.#others.push(dashboard)
    return dashboard
  }

  /** Somebody logs in, in a browser of their own. */
  async seat(person: Person, options: BrowserContextOptions = {}, url: string = this.dashboard.url): Promise<Seat> {
    const context = await this.browser.newContext({ viewport: wide, reducedMotion: 'reduce', ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const complaints: string[] = []
    page.on('console', (message) => void (message.type() === 'error' && !isRefusal(message.text(), message.location().url) && complaints.push(`console: ${message.text()} (${message.location().url})`)))
    page.on('pageerror', (error) => void complaints.push(`page: ${error.message}`))
    page.on('requestfailed', (request) => void (request.failure()?.errorText !== 'net::ERR_ABORTED' && complaints.push(`network: ${request.url()} ${request.failure()?.errorText ?? ''}`)))
    const seat: Seat = { page, context, complaints, goto: async (path) => void (await page.goto(url + path)) }
    await seat.goto('/login')
    await page.getByLabel(/name/i).fill(person)
    await page.getByLabel(/password/i).fill(password)
    await page.getByRole('button', { name: /log in/i }).click()
    // Not the links to the pages: a phone has them behind a button.
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    this.#contexts.push(context)
    return seat
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close()
    await this.browser.close()
    for (const dashboard of this.#others) await dashboard.close()
    await this.dashboard.close()
    await this.world.close()
    await this.database.drop()
  }
}
