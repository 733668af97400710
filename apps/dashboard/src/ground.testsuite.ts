/**
 * What the dashboard's tests stand on: a ledger in a real Postgres, a real queue, a producer in a process of its own, and a browser's
 * habits (cookies, Origin, forms) over plain HTTP. A run is brought into every state a page has to show, by the ledger's own verbs.
 */
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createClient, type PawlClient } from '@pawl/client'
import { createHttpClient } from '@pawl/client/http'
import { digest } from '@pawl/core'
import { appendItems, blockItem, openStream, readIdentity, sealRun, settleAction, startRun, takeDueItems } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { claim, committed, finishOne, newRun, openStage, started, type Stage } from '../../../packages/ledger/src/stage.testsuite.ts'
import { hashPassword } from './auth/password.ts'
import { startDashboard, type RunningDashboard } from './index.ts'

export const password = 'correct horse battery'
export const evil = '<script>alert(1)</script>'
/** Reads as another text than it is. */
export const disguised = 'invoice-\u202Efdp.exe'

export interface Ground {
  readonly stage: Stage
  readonly ledgerId: string
  readonly queue: Queue
  /** The same ledger, straight: what the pages must agree with. */
  readonly direct: PawlClient
  readonly env: NodeJS.ProcessEnv
  readonly dashboard: RunningDashboard
  /** Another dashboard over the same ledger. */
  start(env: NodeJS.ProcessEnv): Promise<RunningDashboard>
  close(): Promise<void>
}

export async function openGround(redisUrl?: string): Promise<Ground> {
  const stage = await openStage()
  const { id: ledgerId } = await readIdentity(stage.ledger)
  const places = redisUrl === undefined ? { PAWL_QUEUE: 'postgres', REDIS_URL: '' } : { PAWL_QUEUE: 'redis', REDIS_URL: redisUrl }
  const producer = await startProducerProcess({ ...places, DATABASE_URL: stage.url })
  const hash = await hashPassword(password)
  const env = {
    ...places, DATABASE_URL: stage.url, PAWL_PORT: '0', PAWL_PRODUCER_URL: producer.url, PAWL_PRODUCER_TOKEN: producer.token, PAWL_LOG_LEVEL: 'silent',
    PAWL_DASHBOARD_USERS: `olga:operate:${hash},rita:read:${hash}`, PAWL_SESSION_SECRET: randomBytes(32).toString('hex'),
  }
  const queue = connectQueue({ backend: redisUrl === undefined ? 'postgres' : 'redis', url: redisUrl ?? stage.url, ledgerId, onError: () => undefined })
  await queue.ready()
  const dashboards: RunningDashboard[] = []
  const start = async (more: NodeJS.ProcessEnv): Promise<RunningDashboard> => {
    const dashboard = await startDashboard({ ...env, ...more }, { printLink: () => undefined })
    dashboards.push(dashboard)
    return dashboard
  }
  return {
    stage, ledgerId, queue, env, start,
    direct: createClient({ ledger: stage.ledger }),
    dashboard: await start({}),
    async close() {
      for (const dashboard of dashboards) await dashboard.close()
      await queue.close()
      await producer.stop()
      await stage.close()
    },
  }
}

async function startProducerProcess(places: NodeJS.ProcessEnv): Promise<{ url: string; token: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-dashboard-'))
  const config = join(folder, 'pawl.config.mjs')
  writeFileSync(config, 'export default { agents: [] }\n')
  const token = randomBytes(24).toString('hex')
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)))
  const main = fileURLToPath(new URL('../../producer/src/main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@pawl/source', '--import', 'tsx', main], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...places, PAWL_CONFIG: config, PAWL_PORT: '0', PAWL_HOST: '127.0.0.1', PAWL_LOG_LEVEL: 'info', PAWL_TOKENS: `dashboard:read+run+operate+delegate:${Buffer.from(sha256).toString('hex')}` },
  })
  const said: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the producer did not start: ${said.join('\n')}`)))
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line)
      const found = /"url":"(http:[^"]+)"/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  return {
    url, token,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** As a script of a page asks. */
export const json = { accept: 'application/json' } as const

/** One browser: keeps cookies, sends Origin with writes, follows no redirect by itself. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return await this.send('GET', path, undefined, headers)
  }

  async send(method: string, path: string, body?: URLSearchParams | string, headers: Record<string, string> = {}): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method, redirect: 'manual', ...(body === undefined ? {} : { body }),
      headers: { accept: 'text/html', ...this.cookieHeader(), ...(method === 'GET' ? {} : { origin: new URL(this.url).origin }), ...headers },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (name === undefined || value === undefined) continue
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  /** Fills in the named fields of the page's form to `action` and sends it, its hidden fields included. */
  async submit(page: string, action: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Reply> {
    const { text } = await this.get(page)
    return await this.send('POST', action, new URLSearchParams({ ...hiddenFields(text, action), ...fields }), headers)
  }

  async login(name: string, withPassword: string = password): Promise<Reply> {
    return await this.submit('/login', '/login', { name, password: withPassword })
  }

  /** Of the session, as Bull Board's page is given it. */
  async csrf(): Promise<string> {
    const token = /name="pawl-csrf" content="([^"]+)"/.exec((await this.get('/queues/')).text)?.[1]
    if (token === undefined) throw new Error('the board’s page names no token')
    return token
  }

  /** Of the session, as the pages are told it. */
  async session(): Promise<{ user: string; role: string; csrf: string; base: string; version: string }> {
    return JSON.parse((await this.get('/session', json)).text) as { user: string; role: string; csrf: string; base: string; version: string }
  }

  /** What the pages ask and act with, in this browser's session. */
  async api(): Promise<PawlClient> {
    return createHttpClient({ url: `${this.url}/api`, headers: { ...this.cookieHeader(), origin: new URL(this.url).origin, 'x-pawl-csrf': (await this.session()).csrf } })
  }

  cookieHeader(): { cookie: string } {
    return { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
  }
}

export function hiddenFields(page: string, action: string): Record<string, string> {
  const form = page.split('<form').find((part) => part.includes(`action="${action}"`))?.split('</form>')[0]
  if (form === undefined) throw new Error(`no form to ${action} on the page`)
  return Object.fromEntries([...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]))
}

export interface Scene {
  readonly runId: string
  readonly doubtful: { readonly seq: number; readonly actionId: number }
}

/** Eight items: 1 done, 2 and 3 failed, 4 in doubt, 5 crash loop, 6 in progress, 7 and 8 not begun. */
export async function seedRun(stage: Stage, agent = 'mailing'): Promise<Scene> {
  const run = newRun({ namespace: 'default', agent, agentVersion: '3', labels: { campaign: 'spring' }, createdBy: 'ci', input: JSON.stringify({ campaign: 'spring', note: evil }) })
  await startRun(stage.ledger, run)
  const stream = (await openStream(stage.ledger, run.id, 1_000)) ?? 0
  const keys = [evil, 'bob@example.org', 'carol@example.org', disguised, 'erin@example.org', 'frank@example.org', 'grace@example.org', 'heidi@example.org']
  await appendItems(stage.ledger, run.id, stream, keys.map((key) => ({ key, payload: JSON.stringify({ to: key }) })))
  await sealRun(stage.ledger, run.id, stream, digest(keys))
  // As if rung for: the next ring is another generation.
  await takeDueItems(stage.ledger, run.id)
  const args = (to: string) => ({ args: JSON.stringify({ to, body: `Hello ${evil} and ${disguised}` }), tool: 'mail-api.send' })
  const done = await claim(stage, run.id, 1)
  await committed(stage, done, 'key-1', args(evil))
  await finishOne(stage, done, 'done', { result: '{"messageId":"m-1"}', resultRef: 'm-1' })
  for (const seq of [2, 3]) {
    const failing = await claim(stage, run.id, seq)
    await committed(stage, failing, `key-${seq}`, args('b'))
    await finishOne(stage, failing, 'failed', { error: JSON.stringify({ name: 'ToolFailed', message: `550 mailbox ${seq} is unknown ${evil}`, code: 'BOUNCED' }), isFailure: true })
  }
  const doubtful = await claim(stage, run.id, 4)
  await started(stage, doubtful, `key-4`, args(disguised))
  await settleAction(stage.ledger, doubtful, 'key-4', { verdict: 'in_doubt', by: 'cannot be asked' })
  await blockItem(stage.ledger, doubtful, 'in_doubt', {})
  await blockItem(stage.ledger, await claim(stage, run.id, 5), 'crash_loop', { attempts: 5 })
  const busy = await claim(stage, run.id, 6)
  await committed(stage, busy, 'key-6', args('f'))
  const actionId = await stage.value<string>(`select id from pawl.actions where run_id = $1 and key = 'key-4'`, [run.id])
  return { runId: run.id, doubtful: { seq: 4, actionId: Number(actionId) } }
}
