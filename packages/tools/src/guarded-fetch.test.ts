import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fetch as undiciFetch } from 'undici'
import { json, startReceiver, type Receiver } from './fixtures/receiver.testsuite.ts'
import { rejection } from './fixtures/context.testsuite.ts'
import { createGuardedFetch } from './guarded-fetch.ts'
import { NotSent } from './not-sent.ts'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

function deadlineGuard(deadlineMs: number): () => void {
  const end = performance.now() + deadlineMs
  return () => {
    if (performance.now() >= end) throw new NotSent('the send window is over')
  }
}

/**
 * Runs `send` in the timers phase and blocks the loop as soon as its connection is being made: the next thing the loop
 * does is to report the finished handshake, before the deadline's timer.
 */
async function blockedDuringConnect<T>(blockMs: number, send: () => Promise<T>): Promise<T> {
  const block = () => {
    unsubscribe('undici:client:beforeConnect', begin)
    const end = performance.now() + blockMs
    while (performance.now() < end);
  }
  // The second tick comes after the one in which the socket begins to connect.
  const begin = () => process.nextTick(() => process.nextTick(block))
  subscribe('undici:client:beforeConnect', begin)
  await new Promise((resolve) => setTimeout(resolve, 5))
  return send()
}

describe('a loop that is blocked between the guard and the handshake', () => {
  it('lets a request out late when the guard is only asked before fetch', async () => {
    const guard = deadlineGuard(150)
    guard()
    const error = await blockedDuringConnect(400, () => rejection(undiciFetch(receiver.url, { method: 'POST', body: 'late', signal: AbortSignal.timeout(150) })))
    expect(error).toMatchObject({ name: 'TimeoutError' })
    await expect.poll(() => receiver.receipts.length, { timeout: 2_000 }).toBe(1)
  })

  it('sends nothing when the guard is asked at the write', async () => {
    const guard = deadlineGuard(150)
    guard()
    const fetch = createGuardedFetch({ guard, signal: AbortSignal.timeout(150) })
    const error = await blockedDuringConnect(400, () => rejection(fetch(receiver.url, { method: 'POST', body: 'late' })))
    expect(error).toBeInstanceOf(NotSent)
    expect(fetch.requestsSent).toBe(0)
    // A later request on the same agent proves that the connection came up and the late one was not behind it.
    await createGuardedFetch({ guard: () => {} })(`${receiver.url}/after`)
    expect(receiver.receipts.map((receipt) => receipt.url)).toEqual(['/after'])
  })
})

describe('the guard', () => {
  it('is asked once per request, on new and on kept connections alike', async () => {
    let asked = 0
    const fetch = createGuardedFetch({ guard: () => void (asked += 1) })
    for (let n = 0; n < 5; n += 1) {
      expect(await (await fetch(receiver.url)).json()).toEqual({ ok: true })
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(asked).toBe(5)
    expect(receiver.connections()).toBeLessThan(5)
  })

  it('refuses with NotSent before the first request, with a plain error after one', async () => {
    let isClosed = false
    const fetch = createGuardedFetch({
      guard: () => {
        if (isClosed) throw new NotSent('over')
      },
    })
    await (await fetch(receiver.url, { method: 'POST', body: 'first' })).text()
    isClosed = true
    const second = await rejection(fetch(receiver.url, { method: 'POST', body: 'second' }))
    expect(second).not.toBeInstanceOf(NotSent)
    expect(String(second)).toContain('unsettled')
    expect(receiver.receipts).toHaveLength(1)
  })

  it('stays closed once it has refused', async () => {
    let asked = 0
    const fetch = createGuardedFetch({
      guard: () => {
        asked += 1
        if (asked === 1) throw new NotSent('over')
      },
    })
    expect(await rejection(fetch(receiver.url))).toBeInstanceOf(NotSent)
    expect(await rejection(fetch(receiver.url))).toBeInstanceOf(NotSent)
    expect(receiver.receipts).toHaveLength(0)
  })
})

describe('a request is written at most once', () => {
  for (const method of ['GET', 'POST'] as const) {
    it(`${method} is not repeated when a kept connection is reset`, async () => {
      const fetch = createGuardedFetch({ guard: () => {} })
      await (await fetch(receiver.url)).text()
      receiver.answer = (_receipt, response) => void response.socket?.destroy()
      await rejection(fetch(`${receiver.url}/reset`, { method }))
      receiver.answer = (_receipt, response) => json(response, 200, {})
      await (await fetch(`${receiver.url}/after`)).text()
      expect(receiver.receipts.map((receipt) => receipt.url)).toEqual(['/', '/reset', '/after'])
    })
  }

  it('is not repeated after 421, which plain fetch does', async () => {
    receiver.answer = (_receipt, response) => json(response, 421, {})
    await undiciFetch(`${receiver.url}/naive`, { method: 'POST', body: 'x' })
    expect(receiver.receipts).toHaveLength(2)
    await rejection(createGuardedFetch({ guard: () => {} })(`${receiver.url}/ours`, { method: 'POST', body: 'x' }))
    expect(receiver.receipts.filter((receipt) => receipt.url === '/ours')).toHaveLength(1)
  })

  it('a write is not sent on to the target of a redirect, a read is', async () => {
    receiver.answer = (receipt, response) => (receipt.url === '/to' ? json(response, 200, { there: true }) : json(response, 307, {}, { location: '/to' }))
    const fetch = createGuardedFetch({ guard: () => {} })
    expect((await fetch(`${receiver.url}/from`, { method: 'POST', body: 'x' })).status).toBe(307)
    expect(receiver.receipts).toHaveLength(1)
    expect(await (await fetch(`${receiver.url}/from`)).json()).toEqual({ there: true })
  })
})

describe('bodies arrive as the platform fetch would send them', () => {
  it('forms, bytes, streams and Request objects', async () => {
    const fetch = createGuardedFetch({ guard: () => {} })
    const form = new FormData()
    form.set('a', '1')
    await fetch(receiver.url, { method: 'POST', body: form })
    await fetch(receiver.url, { method: 'POST', body: new URLSearchParams({ b: '2' }) })
    await fetch(new Request(receiver.url, { method: 'PUT', body: new Blob(['three']), headers: { 'x-own': 'yes' } }))
    await fetch(receiver.url, { method: 'POST', body: new Blob(['four']).stream(), duplex: 'half' })
    const [multi, encoded, request, stream] = receiver.receipts
    expect(multi?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(multi?.body).toContain('name="a"')
    expect(encoded?.body).toBe('b=2')
    expect(request).toMatchObject({ method: 'PUT', body: 'three', headers: { 'x-own': 'yes', 'content-length': '5' } })
    expect(stream?.body).toBe('four')
  })

  it('an aborted signal ends a request under way', async () => {
    receiver.answer = () => {}
    const abort = new AbortController()
    const call = rejection(createGuardedFetch({ guard: () => {}, signal: abort.signal })(receiver.url))
    await expect.poll(() => receiver.receipts.length).toBe(1)
    abort.abort()
    expect((await call) as Error).toMatchObject({ name: 'AbortError' })
  })
})
