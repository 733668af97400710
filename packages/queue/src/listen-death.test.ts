/** A server process that ends in the very moment in which its client has connected: readiness and the end come in one packet. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { connectQueue } from './connect.ts'

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
const ended = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, fields.length + 4]), fields])

/** Lets everything through; the connection whose turn it is, counted down from `deadlyIn`, is told that it is ready and that it has ended, at once. */
async function openDoor(url: string) {
  const target = new URL(url)
  const real = { port: Number(target.port), host: target.hostname }
  const state = { deadlyIn: 0, deaths: 0 }
  const server = createServer((client) => {
    const upstream = connect(real)
    let isDeadly = --state.deadlyIn === 0
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy()).on('data', (bytes) => upstream.write(bytes))
    upstream.on('error', () => client.destroy()).on('close', () => client.end()).on('data', (bytes) => {
      if (!isDeadly || !bytes.subarray(-readyForQuery.length).equals(readyForQuery)) return void client.write(bytes)
      isDeadly = false
      state.deaths++
      client.end(Buffer.concat([bytes, ended]))
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  target.port = String((server.address() as AddressInfo).port)
  target.hostname = '127.0.0.1'
  return { url: target.href, state, close: () => { server.close() } }
}

test('a backend that ends as its client has just connected does not end the process: another is connected, and doorbells arrive', async () => {
  const database = await freshDatabase()
  const door = await openDoor(database.url)
  const ledgerId = randomUUID()
  const queue = connectQueue({ backend: 'postgres', url: door.url, ledgerId, onError: () => {} })
  try {
    await queue.ready()
    // A subscription opens connections for its statements and one that listens: each of them once.
    for (const turn of [1, 2, 3]) {
      const bells: string[] = []
      door.state.deadlyIn = turn
      const channel = { kind: 'agent', agent: `agent-${turn}`, version: '1' } as const
      const subscription = await queue.subscribe(channel, 1, (bell) => { bells.push(bell.runId); return Promise.resolve() })
      await expect.poll(() => door.state.deaths, { timeout: 20_000, interval: 50 }).toBe(turn)
      const runId = randomUUID()
      const ring = { ledgerId, runId, seq: 1, generation: 1, channel, first: false, title: 'one' }
      await expect.poll(() => queue.ring([ring]).then(() => true, () => false), { timeout: 20_000, interval: 100 }).toBe(true)
      await expect.poll(() => bells, { timeout: 20_000, interval: 50 }).toEqual([runId])
      await subscription.close(1_000)
    }
  } finally {
    await queue.close()
    door.close()
    await database.drop()
  }
}, 90_000)
