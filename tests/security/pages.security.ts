/** What a browser is told, and what it is given: no scripts but ours, no frames, nothing that is read as what it is not. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from './ground/browser.ts'
import { dashboardRoutes, producerRoutes } from './ground/routes.ts'
import { sendRaw } from './ground/raw.ts'
import { ask, openSite, type Site } from './ground/site.ts'

const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}${7*7}'
/** Reads as another text than it is, each in its way. */
const disguised = ['invoice-\u202Efdp.exe', 'a\u2066b', 'zero\u200Bwidth', 'bell\u0007', 'esc\u001B[31m', 'line\u2028end', 'tag\u{E0041}', 'nel\u0085']

let site: Site
let runId: string
beforeAll(async () => {
  site = await openSite()
  const { id } = await site.direct.startRun('plain', { note: evil }, { items: [{ key: 'evil', payload: { text: evil } }, ...disguised.map((text, i) => ({ key: `d${i}`, payload: { text } }))], labels: { note: '<b>label</b>' } })
  runId = id
})
afterAll(() => site?.close())

const fill = () => ({ run: runId, seq: '1', action: '1', question: '1', verb: 'pause', id: randomUUID() })

describe('every answer of the dashboard', () => {
  test('forbids foreign scripts, inline scripts, frames, plug-ins, other bases and other targets of forms, whatever its status', async () => {
    const olga = await site.login('olga')
    const wrong: string[] = []
    for (const { method, path } of [...dashboardRoutes(fill()), { method: 'GET', path: '/nowhere' }, { method: 'GET', path: '/%' }, { method: 'GET', path: `/runs/${randomUUID()}` }]) {
      if (path === '/logout') continue
      for (const browser of [olga, undefined]) {
        const { headers, status } = await (browser ?? new Browser(site.dashboard.url)).send(method, path)
        const policy = new Map((headers.get('content-security-policy') ?? '').split(';').map((each) => each.trim().split(/ +/)).map(([name = '', ...values]) => [name, values] as const))
        const of = (name: string): string[] => policy.get(name) ?? policy.get('default-src') ?? ['*']
        const faults = [
          ...['script-src', 'object-src', 'connect-src', 'worker-src', 'frame-src'].filter((name) => of(name).some((value) => !["'self'", "'none'"].includes(value))),
          ...['frame-ancestors'].filter((name) => policy.get(name)?.join() !== "'none'"),
          ...['base-uri', 'form-action'].filter((name) => !["'self'", "'none'"].includes(policy.get(name)?.join() ?? '')),
          ...[...policy].filter(([, values]) => values.some((value) => /\*|https?:|unsafe-eval/.test(value))).map(([name]) => name),
          ...(headers.get('x-content-type-options') === 'nosniff' ? [] : ['nosniff']),
          ...(headers.get('x-frame-options') === 'DENY' ? [] : ['x-frame-options']),
          ...(headers.get('access-control-allow-origin') === null ? [] : ['cors']),
          ...(headers.get('x-powered-by') === null ? [] : ['x-powered-by']),
        ]
        if (faults.length > 0) wrong.push(`${method} ${path} (${status}): ${faults.join(', ')}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('with something of somebody’s in it is kept by no cache', async () => {
    const olga = await site.login('olga')
    for (const path of ['/', `/runs/${runId}`, '/queues/', '/queues/api/queues', `/api/v1/runs/${runId}`, '/session', '/login']) expect([path, (await olga.get(path)).headers.get('cache-control')]).toEqual([path, 'no-store'])
  })
})

describe('every answer of the producer', () => {
  test('says what it is, is kept by no cache, and its pages are framed by nobody', async () => {
    const wrong: string[] = []
    for (const { method, path } of [...producerRoutes(fill()), { method: 'GET', path: '/nowhere' }]) {
      const { headers, status } = await ask(site, site.tokens.all, method, path, undefined, { accept: 'application/json' })
      const type = headers.get('content-type') ?? ''
      if (headers.get('x-content-type-options') !== 'nosniff') wrong.push(`${method} ${path} (${status}): can be sniffed`)
      if (type.startsWith('text/html') && !(headers.get('content-security-policy') ?? '').includes("frame-ancestors 'none'")) wrong.push(`${path}: can be framed`)
      if (headers.get('cache-control') !== 'no-store') wrong.push(`${path}: may be kept`)
    }
    expect(wrong).toEqual([])
  })

  test('gives values back as JSON, unchanged, as nothing a browser would run', async () => {
    for (const path of [`/v1/runs/${runId}`, `/v1/runs/${runId}/items`, `/v1/runs/${encodeURIComponent(evil)}`, `/v1/runs?label=${encodeURIComponent(evil)}`, `/v1/runs?status=${encodeURIComponent(evil)}`, `/${encodeURIComponent(evil)}`]) {
      const { headers } = await ask(site, site.tokens.all, 'GET', path)
      expect([path, headers.get('content-type')?.replace(/;.*/, '')]).toEqual([path, expect.stringMatching(/^application\/(problem\+)?json$/)])
    }
    expect(JSON.parse((await ask(site, site.tokens.all, 'GET', `/v1/runs/${runId}/items`)).text)).toMatchObject({ entries: expect.arrayContaining([expect.objectContaining({ payload: { text: evil } })]) as unknown })
  })
})

test('what a request said comes back as no header and no markup', async () => {
  const olga = await site.login('olga')
  for (const [url, cookie, token] of [[site.dashboard.url, olga.session().join('='), ''], [site.producer, '', `authorization: Bearer ${site.tokens.all}\r\n`]] as const) {
    for (const path of ['/%0d%0ax-injected:%201', '/login?next=/%0d%0ax-injected:%201', `/runs/${encodeURIComponent(evil)}`, `/login?next=${encodeURIComponent(evil)}`, `/login?link=${encodeURIComponent(evil)}`, `/?status=${encodeURIComponent(evil)}`, `/nowhere/${encodeURIComponent(evil)}`, `/v1/runs/${encodeURIComponent(evil)}`, `/queues/queue/${encodeURIComponent(evil)}`, '/v1/runs/%0d%0ax-injected:%201']) {
      const { text } = await sendRaw(url, `GET ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncookie: ${cookie}\r\n${token}accept: text/html\r\nconnection: close\r\n\r\n`)
      const [head = '', ...body] = text.split('\r\n\r\n')
      expect([path, /^x-injected/im.test(head), /content-type: text\/html/i.test(head) && body.join().includes('<script>alert(1)')]).toEqual([path, false, false])
    }
  }
})

test('a value that is shown in a page of the server’s own making is text, and what cannot be seen in it is named', async () => {
  const olga = await site.login('olga')
  for (const path of ['/', `/runs/${runId}`, `/runs/${runId}/items/1`, `/runs/${runId}/items/2`, '/queues/']) {
    const { text } = await olga.get(path)
    expect([path, text.includes('<script>alert(1)'), text.includes('onerror=alert(1)>'), text.includes('<b>label</b>')]).toEqual([path, false, false, false])
    // Directions, widths and controls of the values: a page of ours has none of its own.
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect([path, /[\u202A-\u202E\u2066-\u2069\u200B\u0007\u001B\u2028\u0085]|\u{E0041}/u.test(text)]).toEqual([path, false])
  }
})

test('a job on the board has no title that reads as another', async () => {
  await site.direct.startRun('plain', null, { items: [{ key: disguised[0] ?? '', payload: null }] })
  const olga = await site.login('olga')
  const jobs = async (): Promise<string> => {
    const { queues } = JSON.parse((await olga.get('/queues/api/queues', { accept: 'application/json' })).text) as { queues: { name: string }[] }
    const texts = await Promise.all(queues.map(async ({ name }) => (await olga.get(`/queues/api/queues?activeQueue=${encodeURIComponent(name)}&page=1&jobsPerPage=100`, { accept: 'application/json' })).text))
    return texts.join('\n')
  }
  await expect.poll(jobs, { timeout: 60_000, interval: 500 }).toContain('invoice-')
  expect(await jobs()).toContain('invoice-⟨U+202E⟩fdp.exe')
})

test('no page in the browser makes markup or code of a text: its sources have no way to', () => {
  const folder = fileURLToPath(new URL('../../apps/dashboard/web/src', import.meta.url))
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  expect(sources.length).toBeGreaterThan(20)
  const ways = /dangerouslySetInnerHTML|\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function|srcDoc|javascript:/
  expect(sources.filter((name) => ways.test(readFileSync(join(folder, name), 'utf8')))).toEqual([])
})
