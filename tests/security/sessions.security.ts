/** Logins: what the cookie is, how long it is one, who may guess how often, and where a login leads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, hiddenFields, isSessionCookie, password } from './ground/browser.ts'
import { startService } from './ground/processes.ts'
import { openSite, type Site } from './ground/site.ts'

let site: Site
beforeAll(async () => { site = await openSite() })
afterAll(() => site?.close())

const isIn = async (browser: Browser): Promise<boolean> => (await browser.get('/session')).status === 200
/** A browser with the cookie of another, at another dashboard: names hold the port. */
function carried(from: Browser, to: string): Browser {
  const browser = new Browser(to)
  browser.cookies.set(from.session()[0].replace(/\d+$/, new URL(to).port), from.session()[1])
  return browser
}
const flagsOf = (reply: { headers: Headers }): string[] => reply.headers.getSetCookie().filter((cookie) => !/=;/.test(cookie))

describe('cookies', () => {
  test('are for no script and no other site, each of them', async () => {
    const browser = new Browser(site.dashboard.url)
    const cookies = [...flagsOf(await browser.get('/login')), ...flagsOf(await browser.login('olga'))]
    expect(cookies.length).toBeGreaterThanOrEqual(2)
    for (const cookie of cookies) {
      expect(cookie).toMatch(/; HttpOnly(;|$)/)
      expect(cookie).toMatch(/; SameSite=Strict(;|$)/)
      expect(cookie).not.toMatch(/; Domain=/i)
    }
  })

  test('are for https only where the dashboard is reached by https', async () => {
    const { url } = await site.startDashboard({ PAWL_DASHBOARD_URL: 'https://ops.example' })
    const browser = new Browser(url)
    const form = await browser.get('/login')
    const reply = await browser.send('POST', '/login', { headers: { origin: 'https://ops.example' }, body: new URLSearchParams({ ...hiddenFields(form.text), name: 'olga', password }) })
    expect(reply.status).toBe(303)
    for (const cookie of [...flagsOf(form), ...flagsOf(reply)]) expect(cookie).toMatch(/; Secure(;|$)/)
  })

  test('cannot be made, changed or moved by whoever has one', async () => {
    const rita = await site.login('rita')
    const [name, value] = rita.session()
    const [text = '', signature = ''] = value.split('.')
    const claims = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
    const again = (more: object): string => `${Buffer.from(JSON.stringify({ ...claims, ...more })).toString('base64url')}.${signature}`
    const form = [...rita.cookies].find(([each]) => !isSessionCookie(each))?.[1] ?? ''
    for (const forged of [again({ name: 'olga' }), again({ until: 9e15 }), `${text}.`, text, `${text}.${signature}x`, `${text}.${signature.slice(0, -1)}`, form, `${form}.${signature}`, '', '.', '...', 'null', `${'e30'}.${signature}`]) {
      const browser = new Browser(site.dashboard.url)
      browser.cookies.set(name, forged)
      expect(await isIn(browser), forged).toBe(false)
    }
    expect(await isIn(rita)).toBe(true)
  })
})

describe('a session', () => {
  test('is a new one at every login: one that was put into the browser before does not become the person’s', async () => {
    const planted = (await site.login('rita')).session()
    const browser = new Browser(site.dashboard.url)
    browser.cookies.set(...planted)
    const first = await browser.send('POST', '/login', { body: new URLSearchParams({ ...hiddenFields((await new Browser(site.dashboard.url).get('/login')).text), name: 'olga', password }) })
    // The form of another browser: refused, and nothing changed hands.
    expect(first.status).toBe(403)
    const fresh = new Browser(site.dashboard.url)
    fresh.cookies.set(planted[0], 'planted')
    await fresh.login('olga')
    expect(fresh.session()[1]).not.toBe('planted')
    const again = await site.login('olga')
    expect(again.session()[1]).not.toBe(fresh.session()[1])
  })

  test('ends with the logout, also for who has kept the cookie', async () => {
    const olga = await site.login('olga')
    const thief = carried(olga, site.dashboard.url)
    expect(await isIn(thief)).toBe(true)
    const reply = await olga.send('POST', '/logout', { body: new URLSearchParams({ csrf: await olga.csrf() }) })
    expect(reply.status).toBeLessThan(400)
    expect(await isIn(olga)).toBe(false)
    expect(await isIn(thief)).toBe(false)
    expect(await isIn(await site.login('olga'))).toBe(true)
  })

  test('ends with the secret, the password, the role or the person it was made with', async () => {
    const olga = await site.login('olga')
    const users = site.dashboardEnv['PAWL_DASHBOARD_USERS'] ?? ''
    const same = await site.startDashboard({})
    expect(await isIn(carried(olga, same.url))).toBe(true)
    for (const env of [{ PAWL_SESSION_SECRET: 'another secret that is long enough' }, { PAWL_DASHBOARD_USERS: users.replace('olga:operate', 'olga:read') }, { PAWL_DASHBOARD_USERS: users.replace('olga:', 'olga2:') }, { PAWL_DASHBOARD_USERS: '' }]) {
      expect(await isIn(carried(olga, (await site.startDashboard(env)).url)), JSON.stringify(Object.keys(env))).toBe(false)
    }
  })

  test('ends after its time', async () => {
    const olga = await site.login('olga')
    const [soon, late] = await Promise.all(['./clock-11h.ts', './clock-13h.ts'].map((clock) => startService('dashboard', { ...site.dashboardEnv, PAWL_LOG_LEVEL: 'error' }, [clock])))
    try {
      expect(await isIn(carried(olga, soon?.url ?? ''))).toBe(true)
      expect(await isIn(carried(olga, late?.url ?? ''))).toBe(false)
    } finally {
      await Promise.all([soon?.stop(), late?.stop()])
    }
  })
})

describe('passwords', () => {
  test('cannot be guessed more than ten times a minute, however many guesses come at once', async () => {
    const { url } = await site.startDashboard({})
    const form = new Browser(url)
    const fields = hiddenFields((await form.get('/login')).text)
    const guess = async (tried: string) => (await form.send('POST', '/login', { body: new URLSearchParams({ ...fields, name: 'olga', password: tried }) })).status
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => guess(`wrong ${i}`)))
    expect(answers.filter((status) => status === 401)).toHaveLength(10)
    expect(answers.filter((status) => status === 429)).toHaveLength(30)
    // Nor does the right one pass meanwhile: it would tell which guess was right.
    expect(await guess(password)).toBe(429)
  })

  test('are not what tells an unknown name from a wrong password: same words, and the same work', async () => {
    const { url } = await site.startDashboard({})
    const tried = async (name: string) => {
      const browser = new Browser(url)
      const begun = performance.now()
      const reply = await browser.login(name, 'wrong')
      return { ms: performance.now() - begun, page: reply.text.replaceAll(/value="[^"]*"/g, ''), status: reply.status }
    }
    const known = [await tried('olga'), await tried('olga'), await tried('olga')]
    const unknown = [await tried('nobody'), await tried('nobody'), await tried('nobody')]
    expect(new Set([...known, ...unknown].map(({ page, status }) => `${status} ${page}`)).size).toBe(1)
    const least = (all: { ms: number }[]) => Math.min(...all.map(({ ms }) => ms))
    expect(least(unknown) / least(known)).toBeGreaterThan(0.5)
  })
})

describe('the one-time link', () => {
  test('logs in once, whoever comes first and however many come at once', async () => {
    const { url, loginUrl } = await site.startDashboard({ PAWL_DASHBOARD_USERS: '' })
    const { pathname, search } = new URL(loginUrl ?? '')
    const browsers = Array.from({ length: 10 }, () => new Browser(url))
    const replies = await Promise.all(browsers.map((browser) => browser.get(pathname + search)))
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, ...Array.from({ length: 9 }, () => 403)])
    expect((await Promise.all(browsers.map(isIn))).filter(Boolean)).toHaveLength(1)
    expect((await new Browser(url).get(pathname + search)).status).toBe(403)
  })

  test('is shown to nobody but the terminal, and cannot be guessed or asked for by a page elsewhere', async () => {
    const printed: string[] = []
    const { url } = await site.startDashboard({ PAWL_DASHBOARD_USERS: '' }, (link) => printed.push(link))
    const token = new URL(printed[0] ?? '').searchParams.get('link') ?? ''
    expect(token.length).toBeGreaterThanOrEqual(40)
    const pages = await Promise.all(['/', '/login', '/health', '/ready', '/queues/'].map((path) => new Browser(url).get(path)))
    for (const { text, headers } of pages) expect(text + JSON.stringify([...headers])).not.toContain(token)
    for (const link of ['', 'x', token.slice(0, -1), `${token}x`, token.toUpperCase()]) expect((await new Browser(url).get(`/login?link=${encodeURIComponent(link)}`)).status, link).not.toBe(303)
    expect((await new Browser(url).send('POST', '/login', { headers: { origin: 'https://evil.example' } })).status).toBe(403)
    expect(printed).toHaveLength(1)
  })
})

describe('where a login leads', () => {
  const outside = [
    'https://evil.example/', '//evil.example/', '/\\evil.example', '/\r\nset-cookie: a=b', '/\n//evil.example', '\\\\evil.example', '/\t/evil.example', '/%09/evil.example', 'javascript:alert(1)', 'data:text/html,x', ' //evil.example', '//evil.example/%2f..', '///evil.example', 'http:evil.example',
    '/\u2028//evil.example', '/x\r\n\r\n<script>',
  ]
  test('is a place of ours, whatever the link to the login said', async () => {
    // Each costs a password’s work: the worst of them here, all of them below.
    for (const next of outside.slice(0, 5)) {
      const { url } = site.dashboard
      const reply = await new Browser(url).login('olga', password, next)
      const location = reply.headers.get('location') ?? ''
      expect([next, reply.status, new URL(location, url).origin]).toEqual([next, 303, url])
      expect(reply.headers.get('set-cookie') ?? '').not.toContain('a=b')
    }
  })

  test('also for who is logged in already', async () => {
    const olga = await site.login('olga')
    for (const next of outside) {
      const reply = await olga.get(`/login?next=${encodeURIComponent(next)}`)
      expect([next, new URL(reply.headers.get('location') ?? '', site.dashboard.url).origin]).toEqual([next, site.dashboard.url])
    }
    expect((await olga.get('/login?next=%2Finbox')).headers.get('location')).toBe('/inbox')
  })
})
