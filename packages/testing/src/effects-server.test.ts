import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEffectsLog } from './effects-log.ts'
import { startEffectsServer, type EffectsServer } from './effects-server.ts'

describe('the effects server', () => {
  let server: EffectsServer
  beforeAll(async () => { server = await startEffectsServer() })
  afterAll(() => server.close())
  const post = (path: string, key: string, body: unknown = {}) => fetch(`${server.url}/${path}`, { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(body) })

  test('deduplicates on the key where it promises to, the call still running included, and counts every receipt', async () => {
    server.program('k', [{ hold: 'before' }])
    const first = post('keyed/do/k', 'key')
    await server.received('k', 1)
    expect((await post('keyed/do/k', 'key')).status).toBe(409)
    server.release('k')
    const answer = await (await first).text()
    expect(await (await post('keyed/do/k', 'key')).text()).toBe(answer)
    expect((await post('keyed/do/k', 'key', { other: true })).status).toBe(422)
    expect(server.receipts({ subject: 'k' }).map((receipt) => receipt.applied)).toEqual([true, false, false, false])
  })

  test('a receiver that looks first and acts later doubles two simultaneous calls: so a test that lets them meet can fail', async () => {
    server.program('r', [{ delayBeforeMs: 50 }, {}])
    await Promise.all([post('racy/do/r', 'raced'), post('racy/do/r', 'raced')])
    expect(server.effects({ subject: 'r' })).toBe(2)
    await post('racy/do/r', 'raced')
    expect(server.effects({ subject: 'r' })).toBe(2)
  })

  test('opaque endpoints apply whatever arrives; a lookup may hide an effect for a time', async () => {
    await Promise.all([post('opaque/do/o', 'key'), post('opaque/do/o', 'key')])
    expect(server.effects({ subject: 'o' })).toBe(2)
    server.program('l', [{ hiddenMs: 200 }])
    await post('lookup/do/l', 'seen')
    const look = async () => (await fetch(`${server.url}/lookup/do/l`, { headers: { 'idempotency-key': 'seen' } })).status
    expect(await look()).toBe(404)
    await expect.poll(look, { timeout: 5_000 }).toBe(200)
  })

  test('drops, refuses and fails where it is told, and says afterwards whether the effect stands', async () => {
    server.program('f', [{ drop: 'before' }, { drop: 'after' }, { refuse: 429, retryAfterSeconds: 7 }, { errorAfter: 500 }])
    await expect(post('opaque/do/f', '1')).rejects.toThrow()
    await expect(post('opaque/do/f', '2')).rejects.toThrow()
    const refused = await post('opaque/do/f', '3')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect((await post('opaque/do/f', '4')).status).toBe(500)
    expect(server.receipts({ subject: 'f' }).map((receipt) => receipt.applied)).toEqual([false, true, false, true])
  })

  test('forgets a key when it is told to, as providers do', async () => {
    server.program('g', [{}, { forget: true }])
    await post('keyed/do/g', 'old')
    await post('keyed/do/g', 'old')
    expect(server.effects({ subject: 'g' })).toBe(2)
  })
})

/** In a process of its own; `file` is its log. */
async function startAlone(file: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('effects-server.ts', import.meta.url)), '0', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) return { child, url: (JSON.parse(line) as { url: string }).url }
  throw new Error('it said nothing')
}
const postKeyed = (url: string) => fetch(`${url}/keyed/do/s`, { method: 'POST', headers: { 'idempotency-key': 'key' }, body: '{}' }).then((response) => response.text())

describe('in a process of its own', () => {
  let folder: string
  let file: string
  beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'effects-')) })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('it survives being killed: its log says what was applied, and it goes on with it', async () => {
    file = join(folder, 'killed')
    const one = await startAlone(file)
    const answer = await postKeyed(one.url)
    one.child.kill('SIGKILL')
    const two = await startAlone(file)
    expect(await postKeyed(two.url)).toBe(answer)
    two.child.kill('SIGKILL')
    expect(readEffectsLog(file).map((receipt) => receipt.applied)).toEqual([true, false])
  }, 60_000)

  test('it says in its log that it stood still, and for how long: what is doubled then is not the sender\'s doing', async () => {
    file = join(folder, 'frozen')
    const { child, url } = await startAlone(file)
    await postKeyed(url)
    const from = Date.now()
    child.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    child.kill('SIGCONT')
    const stoodStill = (): { ms: number }[] => readFileSync(file, 'utf8').split('\n').flatMap((line) => (line.includes('"stood still"') ? [JSON.parse(line) as { ms: number }] : []))
    await expect.poll(() => stoodStill().length, { timeout: 10_000 }).toBe(1)
    const [{ ms }] = stoodStill() as [{ ms: number }]
    expect(ms).toBeGreaterThan(2_200)
    expect(ms).toBeLessThanOrEqual(Date.now() - from)
    expect(readEffectsLog(file)).toHaveLength(1)
    child.kill('SIGKILL')
  }, 60_000)
})
