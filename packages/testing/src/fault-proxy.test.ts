import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Ledger } from '@pawl/ledger'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'

const soon = { timeout: 5_000, interval: 10 }
/** So long nothing may have arrived that would have, with nothing in its way, within a millisecond. */
const quietMs = 150
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What one side of a connection has seen. */
class Ear {
  text = ''
  end: 'none' | 'end' | 'reset' = 'none'

  constructor(readonly socket: Socket) {
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => { this.text += chunk })
    socket.on('end', () => { this.end = 'end' })
    socket.on('error', () => { this.end = 'reset' })
  }
}

describe('the fault proxy', () => {
  let server: Server
  let proxy: FaultProxy
  let accepted: Ear[]
  const clients: Ear[] = []
  beforeEach(async () => {
    accepted = []
    server = createServer({ allowHalfOpen: true }, (socket) => { accepted.push(new Ear(socket)) }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    proxy = await startFaultProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
  afterEach(async () => {
    await proxy.close()
    for (const ear of [...clients.splice(0), ...accepted]) ear.socket.destroy()
    server.close()
  })

  async function open(): Promise<Ear> {
    const client = new Ear(connect({ port: Number(new URL(proxy.url).port), host: '127.0.0.1', allowHalfOpen: true }))
    clients.push(client)
    await once(client.socket, 'connect')
    return client
  }
  /** Both ends of a connection that works. */
  async function openPair(): Promise<[client: Ear, server: Ear]> {
    const before = accepted.length
    const client = await open()
    client.socket.write('hello ')
    await expect.poll(() => accepted[before]?.text, soon).toBe('hello ')
    return [client, accepted[before] as Ear]
  }

  test('passes bytes and ends both ways unchanged, megabytes too', async () => {
    const [client, far] = await openPair()
    const much = 'x'.repeat(5_000_000)
    client.socket.end(much)
    await expect.poll(() => far.end, soon).toBe('end')
    expect(far.text).toBe(`hello ${much}`)
    far.socket.end('still here')
    await expect.poll(() => client.end, soon).toBe('end')
    expect(client.text).toBe('still here')
    await expect.poll(() => proxy.connections, soon).toBe(0)
  })

  test('latency delays each way, keeps the order, and ends with heal', async () => {
    const [client, far] = await openPair()
    proxy.latency(100)
    const from = performance.now()
    client.socket.write('a')
    client.socket.write('b')
    await expect.poll(() => far.text, soon).toBe('hello ab')
    far.socket.write('c')
    await expect.poll(() => client.text, soon).toBe('c')
    expect(performance.now() - from).toBeGreaterThan(195)
    proxy.heal()
    const healed = performance.now()
    client.socket.write('d')
    await expect.poll(() => far.text, { ...soon, interval: 2 }).toBe('hello abd')
    expect(performance.now() - healed).toBeLessThan(95)
  })

  test('cut resets both sides; whoever comes next gets through', async () => {
    const [client, far] = await openPair()
    proxy.cut()
    await expect.poll(() => [client.end, far.end], soon).toEqual(['reset', 'reset'])
    await openPair()
  })

  test('half-open: the old connection stays open and silent, a new one works, and what was held arrives after heal', async () => {
    const [client, far] = await openPair()
    proxy.halfOpen()
    client.socket.write('late')
    far.socket.write('late too')
    await openPair()
    await pause(quietMs)
    expect([client.text, client.end, far.text, far.end]).toEqual(['', 'none', 'hello ', 'none'])
    proxy.heal()
    await expect.poll(() => [client.text, far.text], soon).toEqual(['late too', 'hello late'])
  })

  test('half-open one way: requests arrive, answers do not', async () => {
    const [client, far] = await openPair()
    proxy.halfOpen('fromServer')
    client.socket.write('a request')
    await expect.poll(() => far.text, soon).toBe('hello a request')
    far.socket.write('an answer')
    await pause(quietMs)
    expect(client.text).toBe('')
    proxy.cut()
    await expect.poll(() => [client.end, far.end], soon).toEqual(['reset', 'reset'])
    expect(client.text).toBe('')
  })

  test('the server does not hear that a client behind a silence has gone, until heal', async () => {
    const [client, far] = await openPair()
    proxy.halfOpen()
    client.socket.destroy()
    await pause(quietMs)
    expect([far.end, proxy.connections]).toEqual(['none', 1])
    proxy.heal()
    await expect.poll(() => far.end, soon).not.toBe('none')
    far.socket.end()
    await expect.poll(() => proxy.connections, soon).toBe(0)
  })

  test('a black hole accepts new connections and answers none; they are served after heal', async () => {
    const [old] = await openPair()
    proxy.blackHole()
    const late = await open()
    late.socket.write('anyone?')
    old.socket.write('anyone?')
    await pause(quietMs)
    expect(accepted.map((ear) => ear.text)).toEqual(['hello '])
    proxy.heal()
    await expect.poll(() => accepted.map((ear) => ear.text), soon).toEqual(['hello anyone?', 'anyone?'])
  })

  test('shut resets whoever is in and whoever comes', async () => {
    const [client] = await openPair()
    proxy.shut()
    await expect.poll(() => client.end, soon).toBe('reset')
    const refused = new Ear(connect(Number(new URL(proxy.url).port), '127.0.0.1'))
    clients.push(refused)
    await expect.poll(() => refused.end, soon).toBe('reset')
    proxy.heal()
    await openPair()
  })

  test('after retarget new connections go to the other server, old ones stay where they are', async () => {
    const [client, far] = await openPair()
    const other: Ear[] = []
    const second = createServer((socket) => { other.push(new Ear(socket)) }).listen(0, '127.0.0.1')
    await once(second, 'listening')
    proxy.retarget(`tcp://127.0.0.1:${(second.address() as AddressInfo).port}`)
    const moved = await open()
    moved.socket.write('to the new one')
    client.socket.write('to the old one')
    await expect.poll(() => [other[0]?.text, far.text], soon).toEqual(['to the new one', 'hello to the old one'])
    for (const ear of other) ear.socket.destroy()
    second.close()
  })
})

test('before a real Postgres: a statement in a silence misses its deadline, the next one goes on', async () => {
  const proxy = await startFaultProxy(inject('postgresUrl'))
  expect(new URL(proxy.url).pathname).toBe(new URL(inject('postgresUrl')).pathname)
  const ledger = new Ledger({ url: proxy.url, connections: 1, deadlineMs: 500 })
  try {
    expect(await ledger.query('select 1 as one')).toEqual([{ one: 1 }])
    proxy.halfOpen('fromServer')
    await expect(ledger.query('select 2')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' })
    expect(await ledger.query('select 3 as three')).toEqual([{ three: 3 }])
  } finally {
    await ledger.close()
    await proxy.close()
  }
})
