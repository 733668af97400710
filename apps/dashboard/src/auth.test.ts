/** Who gets in, and what a page elsewhere can do: black box, over HTTP. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGround, Browser, hiddenFields, json, password, seedRun, type Ground, type Scene } from './ground.testsuite.ts'
import { Attempts } from './auth/attempts.ts'
import { startDashboard } from './index.ts'

let ground: Ground
let scene: Scene
beforeAll(async () => {
  ground = await openGround()
  scene = await seedRun(ground.stage)
})
afterAll(() => ground?.close())

const open = async (name?: string): Promise<Browser> => {
  const browser = new Browser(ground.dashboard.url)
  if (name !== undefined) expect((await browser.login(name)).status).toBe(303)
  return browser
}

describe('without a login', () => {
  const pages = () => ['/', '/inbox', `/runs/${scene.runId}`, `/runs/${scene.runId}/items/4`, '/fleet', '/tools', '/queues', '/queues/', '/queues/queue/x', '/nowhere']
  const others = () => ['/session', '/api/v1/runs', `/api/v1/runs/${scene.runId}`, `/api/v1/runs/${scene.runId}/events`, '/api/v1/nowhere', '/assets/index.js', '/queues/api/queues', '/queues/static/js/main.js', '/queues/api/redis/stats']

  test('every page leads to the login and shows nothing else', async () => {
    const browser = await open()
    for (const path of pages()) {
      const reply = await browser.get(path)
      expect([path, reply.status, reply.headers.get('location')]).toEqual([path, 302, `/login${path === '/' ? '' : `?next=${encodeURIComponent(path)}`}`])
      expect(reply.text).not.toContain(scene.runId)
    }
  })

  test('data and files answer 401, also to what asks as a page would', async () => {
    const browser = await open()
    for (const path of others()) expect([path, (await browser.get(path, { accept: '*/*' })).status]).toEqual([path, 401])
    for (const path of ['/api/v1/runs', '/api/v1/inbox']) expect([path, (await browser.get(path)).status]).toEqual([path, 401])
  })

  test('no write passes', async () => {
    const browser = await open()
    for (const [method, path] of [['POST', `/api/v1/runs/${scene.runId}/cancel`], ['POST', `/api/v1/runs/${scene.runId}/actions/${scene.doubtful.actionId}/settle`], ['POST', '/api/v1/runs'], ['PUT', '/queues/api/queues/pause'], ['POST', '/logout']] as const) {
      expect([path, (await browser.send(method, path, new URLSearchParams({ seen: 'x' }))).status]).toEqual([path, 401])
    }
    expect((await ground.direct.getRun(scene.runId)).status).toBe('running')
  })

  test('a cookie that is forged, cut or another’s is none', async () => {
    const rita = await open('rita')
    const [cookie, value] = [...rita.cookies].find(([name]) => /^pawl_\d+$/.test(name)) ?? ['', '']
    const [text, signature] = value.split('.')
    const claims = JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...claims, name: 'olga' })).toString('base64url')
    for (const bad of [`${forged}.${signature}`, text ?? '', `${text}.`, 'x', `${text}.${signature}x`]) {
      const browser = await open()
      browser.cookies.set(cookie, bad)
      expect((await browser.get('/')).status).toBe(302)
    }
  })
})

describe('the login', () => {
  test('gives a cookie that scripts and other sites do not get, and leads to where one wanted to go', async () => {
    const browser = await open()
    const reply = await browser.submit('/login?next=%2Finbox', '/login', { name: 'olga', password })
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/inbox'])
    const cookie = reply.headers.getSetCookie().find((each) => /^pawl_\d+=/.test(each)) ?? ''
    expect(cookie).toMatch(/; HttpOnly/)
    expect(cookie).toMatch(/; SameSite=Strict/)
    expect(cookie).not.toMatch(/Secure/)
  })

  test('leads nowhere outside', async () => {
    for (const next of ['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)', '/\nlocation:x', '/é']) {
      const reply = await (await open()).submit(`/login?next=${encodeURIComponent(next)}`, '/login', { name: 'olga', password })
      expect(reply.headers.get('location')).toBe('/')
    }
  })

  test('refuses a wrong password and an unknown name with the same words', async () => {
    const [wrong, unknown] = [await (await open()).login('olga', 'wrong password'), await (await open()).login('nobody', password)]
    expect([wrong.status, unknown.status]).toEqual([401, 401])
    const notice = (text: string) => /role="status">([^<]+)</.exec(text)?.[1]
    expect(notice(wrong.text)).toBe(notice(unknown.text))
    expect(wrong.headers.getSetCookie().some((each) => /^pawl_\d+=/.test(each))).toBe(false)
  })

  test('is refused without the token of its form', async () => {
    const browser = await open()
    expect((await browser.send('POST', '/login', new URLSearchParams({ name: 'olga', password }))).status).toBe(403)
    const other = hiddenFields((await (await open()).get('/login')).text, '/login')
    expect((await browser.send('POST', '/login', new URLSearchParams({ ...other, name: 'olga', password }))).status).toBe(403)
  })

  test('ends with the logout, and with a change of the user’s password or role', async () => {
    const browser = await open('olga')
    expect((await browser.send('POST', '/logout', new URLSearchParams({ csrf: (await browser.session()).csrf }))).headers.get('location')).toBe('/login')
    expect((await browser.get('/')).status).toBe(302)

    const port = new URL(ground.dashboard.url).port
    const again = await open('olga')
    const demoted = await ground.start({ PAWL_DASHBOARD_USERS: ground.env['PAWL_DASHBOARD_USERS']?.replace('olga:operate', 'olga:read') })
    const there = new Browser(demoted.url)
    for (const [name, value] of again.cookies) there.cookies.set(name.replace(port, new URL(demoted.url).port), value)
    expect((await there.get('/')).status).toBe(302)
  })

  test('waits after ten wrong passwords from one address, and not for others', () => {
    const attempts = new Attempts()
    for (let i = 0; i < 10; i++) {
      expect(attempts.take('10.0.0.1')).toBe(true)
    }
    expect(attempts.take('10.0.0.1')).toBe(false)
    expect(attempts.take('10.0.0.2')).toBe(true)
    attempts.giveBack('10.0.0.1')
    expect(attempts.take('10.0.0.1')).toBe(true)
  })
})

describe('a write', () => {
  const pause = () => `/api/v1/runs/${scene.runId}/pause`
  const isPaused = async () => (await ground.direct.getRun(scene.runId)).paused

  test('from another site is refused with 403, whatever its cookies and tokens', async () => {
    const browser = await open('olga')
    const { csrf } = await browser.session()
    for (const origin of ['https://evil.example', 'null', ground.dashboard.url.replace(/\d+$/, '1')]) {
      for (const path of [pause(), '/logout', '/queues/api/queues/x/1/retry']) {
        expect([path, (await browser.send('POST', path, '{}', { ...json, origin, 'content-type': 'application/json', 'x-pawl-csrf': csrf })).status]).toEqual([path, 403])
      }
    }
    expect(await isPaused()).toBe(false)
  })

  test('that names no origin is refused', async () => {
    const browser = await open('olga')
    const reply = await fetch(ground.dashboard.url + pause(), { method: 'POST', redirect: 'manual', headers: { ...browser.cookieHeader(), ...json, 'content-type': 'application/json', 'x-pawl-csrf': (await browser.session()).csrf }, body: '{}' })
    expect(reply.status).toBe(403)
    expect(await isPaused()).toBe(false)
  })

  test('without the session’s token is refused with 403, the board’s writes too', async () => {
    const browser = await open('olga')
    const foreign = (await (await open('olga')).session()).csrf
    const given: readonly Record<string, string>[] = [{}, { 'x-pawl-csrf': '' }, { 'x-pawl-csrf': foreign }]
    for (const token of given) {
      expect((await browser.send('POST', pause(), '{}', { ...json, 'content-type': 'application/json', ...token })).status).toBe(403)
      expect((await browser.send('PUT', '/queues/api/queues/x/1/retry', undefined, token)).status).toBe(403)
    }
    expect(await isPaused()).toBe(false)
  })

  test('as a form, which other sites can send, is refused by the API even with the token in it', async () => {
    const browser = await open('olga')
    const { csrf } = await browser.session()
    expect((await browser.send('POST', pause(), new URLSearchParams({ csrf }))).status).toBe(403)
    expect(await isPaused()).toBe(false)
  })

  test('of somebody who may only read is refused with 403, whatever the verb', async () => {
    const browser = await open('rita')
    const { csrf, role } = await browser.session()
    expect(role).toBe('read')
    const run = `/api/v1/runs/${scene.runId}`
    for (const path of [pause(), `${run}/cancel?dryRun=true`, `${run}/items/5/resume`, `${run}/actions/${scene.doubtful.actionId}/settle`, `${run}/nowhere`, '/api/v1/bulk', '/api/v1/runs']) {
      const reply = await browser.send('POST', path, '{}', { ...json, 'content-type': 'application/json', 'x-pawl-csrf': csrf })
      expect([path, reply.status, JSON.parse(reply.text)]).toEqual([path, 403, expect.objectContaining({ code: 'FORBIDDEN', detail: expect.stringContaining('rita may read') as string })])
    }
    expect((await browser.send('PUT', '/queues/api/queues/x/1/retry', undefined, { 'x-pawl-csrf': csrf })).status).toBe(403)
    expect(await isPaused()).toBe(false)
  })
})

test('every answer forbids inline scripts and frames, and inline styles but on the board’s own page', async () => {
  const browser = await open('olga')
  const seen = new Set<string>()
  for (const path of ['/login', '/', '/queues/', '/static/board.js', '/nowhere', '/session', '/api/v1/runs']) {
    const { headers } = await browser.get(path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect([path, policy.match(/[^;]*unsafe[^;]*/g)?.map((part) => part.trim()) ?? []]).toEqual([path, path === '/queues/' ? ["style-src 'self' 'unsafe-inline'"] : []])
    // Of the pages' own document; their libraries write style elements, which carry what no other answer has.
    const nonces = [...policy.matchAll(/'nonce-([^']+)'/g)].map(([, nonce]) => nonce ?? '')
    expect([path, nonces.length]).toEqual([path, path === '/' || path === '/nowhere' ? 1 : 0])
    expect(nonces.every((nonce) => nonce.length >= 16 && !seen.has(nonce))).toBe(true)
    for (const nonce of nonces) seen.add(nonce)
    expect(policy).not.toMatch(/script-src[^;]*nonce/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('a name that was made to point at this machine reaches nothing', async () => {
  const { status } = await fetchAs(ground.dashboard.url, 'evil.example')
  expect(status).toBe(403)
})

describe('without users', () => {
  test('the printed link logs in once, and never again', async () => {
    const dashboard = await ground.start({ PAWL_DASHBOARD_USERS: '', PAWL_SESSION_SECRET: '' })
    const link = new URL(dashboard.loginUrl ?? '')
    const browser = new Browser(dashboard.url)
    expect((await browser.get('/')).status).toBe(302)
    expect((await browser.get(link.pathname + link.search)).headers.get('location')).toBe('/')
    expect((await browser.get('/')).status).toBe(200)
    const late = new Browser(dashboard.url)
    expect((await late.get(link.pathname + link.search)).status).toBe(403)
    expect((await late.get('/')).status).toBe(302)
    expect((await late.get(`/login?link=${randomUUID()}`)).status).toBe(403)
  })

  test('a new link can be asked for; it is printed, not answered', async () => {
    const printed: string[] = []
    const dashboard = await startDashboard({ ...ground.env, PAWL_DASHBOARD_USERS: '' }, { printLink: (url) => printed.push(url) })
    try {
      const browser = new Browser(dashboard.url)
      await browser.get(`/login${new URL(printed[0] ?? '').search}`)
      const other = new Browser(dashboard.url)
      const reply = await other.submit('/login', '/login')
      expect(printed).toHaveLength(2)
      const token = new URL(printed[1] ?? '').searchParams.get('link') ?? ''
      expect(token).not.toBe('')
      expect(reply.text + [...reply.headers].join()).not.toContain(token)
      expect((await other.get(`/login?link=${token}`)).headers.get('location')).toBe('/')
    } finally {
      await dashboard.close()
    }
  })

  test('others than this machine are refused before anything listens', async () => {
    await expect(startDashboard({ ...ground.env, PAWL_HOST: '0.0.0.0', PAWL_DASHBOARD_USERS: '' })).rejects.toMatchObject({ code: 'USERS_NEEDED' })
  })
})

describe('behind a proxy’s path', () => {
  test.for([['kept', '/tools/pawl'], ['stripped', '']])('pages, board and logins work where the path is %s', async ([, before]) => {
    const dashboard = await ground.start({ PAWL_DASHBOARD_URL: 'https://ops.example/tools/pawl' })
    const browser = new Browser(dashboard.url)
    const proxied = { origin: 'https://ops.example' }
    expect((await browser.get(`${before}/inbox`)).headers.get('location')).toBe('/tools/pawl/login?next=%2Finbox')
    const form = hiddenFields((await browser.get(`${before}/login`)).text, '/tools/pawl/login')
    const reply = await browser.send('POST', `${before}/login`, new URLSearchParams({ ...form, next: '/inbox', name: 'olga', password }), proxied)
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/tools/pawl/inbox'])
    expect(reply.headers.getSetCookie().find((each) => /^pawl_\d+=/.test(each))).toMatch(/; Secure/)
    const document = (await browser.get(`${before}/runs/${scene.runId}`)).text
    expect(document).toContain('<meta name="pawl-base" content="/tools/pawl">')
    const code = /src="\/tools\/pawl(\/assets\/[^"]+\.js)"/.exec(document)?.[1] ?? ''
    const file = await browser.get(`${before}${code}`)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect(JSON.parse((await browser.get(`${before}/session`, json)).text)).toMatchObject({ user: 'olga', base: '/tools/pawl' })
    expect(JSON.parse((await browser.get(`${before}/api/v1/runs/${scene.runId}`, json)).text)).toMatchObject({ id: scene.runId })

    const board = await browser.get(`${before}/queues/`)
    expect(board.text).toContain('<base href="/tools/pawl/queues/" />')
    const script = /src="(static\/js\/main[^"]+)"/.exec(board.text)?.[1] ?? ''
    const asset = await browser.get(`${before}/queues/${script}`)
    expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect((await browser.get(`${before}/queues/api/queues`)).status).toBe(200)
  })
})

/** fetch cannot set Host. */
async function fetchAs(url: string, host: string): Promise<{ status: number }> {
  const { request } = await import('node:http')
  const { hostname, port } = new URL(url)
  return await new Promise((resolve, reject) => {
    request({ hostname, port, path: '/login', headers: { host } }, (response) => { response.resume(); resolve({ status: response.statusCode ?? 0 }) }).on('error', reject).end()
  })
}
