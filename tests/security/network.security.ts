/** Who can reach what: this machine only, until there are tokens or people. And what a program says when its stores refuse it: never a password. */
import { randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../setup/fixtures.ts'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { openSocket, sendRaw } from './ground/raw.ts'
import { runProgram, runService, said, startService, type Program } from './ground/processes.ts'
import { sha256 } from './ground/site.ts'

let database: FreshDatabase
let places: NodeJS.ProcessEnv
const running: Program[] = []
beforeAll(async () => {
  database = await freshDatabase()
  const ledger = new Ledger({ url: database.url, connections: 1 })
  await migrateLedger(ledger)
  await ledger.close()
  places = { DATABASE_URL: database.url, PAWL_QUEUE: 'postgres', PAWL_CONFIG: new URL('ground/agents.ts', import.meta.url).pathname, PAWL_PRODUCER_URL: 'http://127.0.0.1:9' }
})
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()))
  await database?.drop()
})

/** Other addresses of this machine: 127.0.0.2 reaches what listens on all of them, and not what listens on 127.0.0.1. */
const others = ['127.0.0.2', ...Object.values(networkInterfaces()).flatMap((each) => each ?? []).filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address)]
const isReached = async (host: string, port: string): Promise<boolean> =>
  await Promise.race([openSocket(`http://${host}:${port}`).then((socket) => { socket.destroy(); return true }, () => false), new Promise<false>((resolve) => { setTimeout(() => resolve(false), 3_000) })])

describe.concurrent('without tokens and people', () => {
  test.for(['producer', 'dashboard', 'worker'] as const)('the %s listens on this machine only', async (name) => {
    const service = await startService(name, { ...places, PAWL_WORKER_PORT: '0', PAWL_PROCESSES: '1' })
    running.push(service)
    const { port, hostname } = new URL(service.url)
    expect(hostname).toBe('127.0.0.1')
    expect(await isReached('127.0.0.1', port)).toBe(true)
    for (const host of others) expect([host, await isReached(host, port)]).toEqual([host, false])
  })

  test.for([
    ['producer', '0.0.0.0', 'PAWL_TOKENS'], ['producer', '::', 'PAWL_TOKENS'], ['producer', '0', 'PAWL_TOKENS'], ['producer', '127.0.0.2', 'PAWL_TOKENS'],
    ['dashboard', '0.0.0.0', 'PAWL_DASHBOARD_USERS'], ['dashboard', '::', 'PAWL_DASHBOARD_USERS'],
  ] as const)('the %s refuses to listen on %s, and says what to set', async ([name, host, variable]) => {
    const program = runService(name, { ...places, PAWL_HOST: host, PAWL_PORT: '0' })
    running.push(program)
    expect(await program.ended).not.toBe(0)
    expect(program.said()).toContain(variable)
    expect(program.said()).not.toContain('"url"')
  })

  test('neither app can be reached by a name that was made to point here', async () => {
    const apps = await Promise.all((['producer', 'dashboard'] as const).map(async (name) => await startService(name, places)))
    running.push(...apps)
    for (const { url } of apps) {
      for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example', '169.254.169.254']) {
        const { status } = await sendRaw(url, `GET /v1/runs HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        expect([host, status]).toEqual([host, 403])
      }
    }
  })
})

test('with people or tokens they listen where they are told, and still ask who is there', async () => {
  const token = randomBytes(24).toString('hex')
  const producer = await startService('producer', { ...places, PAWL_HOST: '0.0.0.0', PAWL_TOKENS: `x:read:${sha256(token)}` })
  running.push(producer)
  const { port } = new URL(producer.url)
  for (const host of others) expect((await fetch(`http://${host}:${port}/v1/runs`)).status).toBe(401)
})

test('a database or a Redis that refuses, is away or is written wrongly is named without its password, by every app and command', async () => {
  const password = 'canary-Pa55word'
  const server = new URL(inject('postgresUrl'))
  const databases = [
    `postgres://pawl:${password}@127.0.0.1:9/pawl`, `postgres://nobody:${password}@${server.host}/pawl`, `postgres://pawl:${password}@no-such-host.invalid/pawl`, `postgres://pawl:${password}@127.0.0.1:port/pawl`, `postgres://pawl:${password}@[::1/pawl`, `mysql://pawl:${password}@127.0.0.1/pawl`, `${password}`,
    `postgres://pawl:${password}@127.0.0.1/pawl?sslmode=${password}`,
  ]
  const redises = [`redis://:${password}@127.0.0.1:9`, `redis://user:${password}@no-such-host.invalid`, `redis://:${password}@127.0.0.1:port`, `http://:${password}@127.0.0.1`]
  const secrets = { PAWL_TOKENS: `x:read:${password}`, PAWL_DASHBOARD_USERS: `x:read:${password}`, PAWL_SESSION_SECRET: password, PAWL_PRODUCER_URL: `${password}`, PAWL_PORT: password, PAWL_QUEUE: password }
  const tries = [...databases.map((url) => ({ DATABASE_URL: url })), ...redises.map((url) => ({ PAWL_QUEUE: 'redis', REDIS_URL: url })), ...Object.entries(secrets).map(([name, value]) => ({ [name]: value }))]
  const program = runProgram('tests/security/ground/try-places.ts', [], { ...places, PAWL_LOG_LEVEL: 'debug', PAWL_TRIES: JSON.stringify(tries) })
  running.push(program)
  await said(program, /all were tried/, 110_000)
  expect(program.said().split('\n').filter((line) => line.includes(password))).toEqual([])
  // They did refuse, each of them.
  expect(program.said().match(/^refused /gm)?.length).toBeGreaterThanOrEqual(databases.length * 3)
}, 120_000)
