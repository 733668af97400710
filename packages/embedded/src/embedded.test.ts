import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import postgres from 'postgres'
import { afterEach, expect, test } from 'vitest'
import { startEmbedded, stopEmbedded } from './index.ts'
import { resolvePlace } from './place.ts'
import { findServer } from './processes.ts'

type Said = { url: string; adopted: boolean; code?: undefined } | { code: string; message: string }

const folders: string[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) {
    for (const pid of pidsOf(folder)) process.kill(pid, 'SIGKILL')
    await untilGone(folder)
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a killed owner leaves the server running, and the next start adopts it with its data', async () => {
  const folder = makeFolder()
  const { child, said } = await startOwner(folder)
  await run(urlOf(said), 'create table kept (n int); insert into kept values (1), (2), (3)')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const before = postmasterOf(folder)

  const next = await startEmbedded({ folder })
  expect(next.adopted).toBe(true)
  expect(postmasterOf(folder)).toBe(before)
  expect(next.url).toBe(urlOf(said))
  expect(await run(next.url, 'select count(*)::int as n from kept')).toEqual([{ n: 3 }])
  await next.release()
  expect(pidsOf(folder)).toEqual([])
})

test('after a kill -9 of the whole server every acknowledged row is there', async () => {
  const folder = makeFolder()
  const first = await startEmbedded({ folder })
  expect(await run(first.url, 'show fsync')).toEqual([{ fsync: 'on' }])
  await run(first.url, 'create table kept (n int primary key)')
  let acknowledged = 0
  const writing = (async () => {
    const client = await connect(first.url)
    for (let n = 1; ; n++) {
      await client.query('insert into kept values ($1)', [n])
      acknowledged = n
    }
  })().catch(() => undefined)
  await until(() => acknowledged >= 200)
  for (const pid of pidsOf(folder)) process.kill(pid, 'SIGKILL')
  await writing
  await first.detach()

  const next = await startEmbedded({ folder })
  expect(next.adopted).toBe(false)
  const [row] = await run(next.url, 'select count(*)::int as n, max(n) as last from kept')
  expect(row?.['n']).toBeGreaterThanOrEqual(acknowledged)
  expect(row?.['n']).toBe(row?.['last'])
  await next.release()
})

test('a killed postmaster whose children still end is waited for', async () => {
  const folder = makeFolder()
  const first = await startEmbedded({ folder })
  await run(first.url, 'create table kept (n int); insert into kept values (7)')
  process.kill(postmasterOf(folder), 'SIGKILL')
  await first.detach()
  const next = await startEmbedded({ folder })
  expect(await run(next.url, 'select n from kept')).toEqual([{ n: 7 }])
  await next.release()
})

test('of two first starts at once exactly one owns the folder, and the other is told by whom', async () => {
  const folder = makeFolder()
  const owners = await Promise.all([startOwner(folder), startOwner(folder), startOwner(folder)])
  const winners = owners.filter(({ said }) => said.code === undefined)
  expect(winners).toHaveLength(1)
  const pid = winners[0]?.child.pid
  for (const { said } of owners) {
    if (said.code === undefined) continue
    expect(said.code).toBe('EMBEDDED_IN_USE')
    expect(said.message).toContain(`process ${pid}`)
  }
  expect(await run(urlOf(winners[0]!.said), 'select 1 as one')).toEqual([{ one: 1 }])
})

test('of two starts at once after a kill of everything exactly one owns the folder', async () => {
  const folder = makeFolder()
  const first = await startEmbedded({ folder })
  await run(first.url, 'create table kept (n int); insert into kept values (5)')
  for (const pid of pidsOf(folder)) process.kill(pid, 'SIGKILL')
  await first.detach()
  const owners = await Promise.all([startOwner(folder), startOwner(folder)])
  const winners = owners.filter(({ said }) => said.code === undefined)
  expect(winners).toHaveLength(1)
  expect(await run(urlOf(winners[0]!.said), 'select n from kept')).toEqual([{ n: 5 }])
})

test('a folder whose parents do not exist yet is made so that the server can reach it', async () => {
  const open = makeFolder()
  chmodSync(open, 0o755)
  const folder = join(open, 'not', 'yet')
  const embedded = await startEmbedded({ folder })
  expect(embedded.folder).toBe(folder)
  await embedded.release()
})

test('a live owner is named to the second, who may come when the first has gone', async () => {
  const folder = makeFolder()
  const { child } = await startOwner(folder)
  await expect(startEmbedded({ folder })).rejects.toMatchObject({ code: 'EMBEDDED_IN_USE', details: { pid: child.pid } })
  await expect(stopEmbedded(folder)).rejects.toMatchObject({ code: 'EMBEDDED_IN_USE' })
  child.stdin?.write('detach\n')
  await once(child, 'exit')
  expect(await stopEmbedded(folder)).toBe(true)
  expect(pidsOf(folder)).toEqual([])
  expect(await stopEmbedded(folder)).toBe(false)
})

test.each([0, 3, 20])('a pid file cut off at %i bytes does not stop the next start', async (bytes) => {
  const folder = makeFolder()
  await killEverythingIn(folder)
  truncateSync(pidFile(folder), bytes)
  const next = await startEmbedded({ folder })
  expect(await run(next.url, 'select n from kept')).toEqual([{ n: 1 }])
  await next.release()
})

test('a running server whose pid file is cut off is adopted, not started over', async () => {
  const folder = makeFolder()
  const first = await startEmbedded({ folder })
  await run(first.url, 'create table kept (n int); insert into kept values (1)')
  await first.detach()
  const before = postmasterOf(folder)
  truncateSync(pidFile(folder), 3)
  const next = await startEmbedded({ folder })
  expect(next.adopted).toBe(true)
  expect(postmasterOf(folder)).toBe(before)
  expect(await run(next.url, 'select n from kept')).toEqual([{ n: 1 }])
  await next.release()
})

test('a recorded pid that belongs to another process of the same user now does not stop the next start', async () => {
  const folder = makeFolder()
  await killEverythingIn(folder)
  const other = spawn('sleep', ['60'], { ...resolvePlace(folder, () => undefined).account })
  children.push(other)
  const lines = readFileSync(pidFile(folder), 'utf8').split('\n')
  writeFileSync(pidFile(folder), [String(other.pid), ...lines.slice(1)].join('\n'))
  const next = await startEmbedded({ folder })
  expect(await run(next.url, 'select n from kept')).toEqual([{ n: 1 }])
  expect(other.exitCode).toBeNull()
  await next.release()
})

test('a remembered port is used again, and given up when something else has it', async () => {
  const folder = makeFolder()
  const first = await startEmbedded({ folder })
  await first.release()
  const second = await startEmbedded({ folder })
  expect(second.url).toBe(first.url)
  await second.release()
  const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1')
  await once(squatter, 'listening')
  const third = await startEmbedded({ folder })
  expect(new URL(third.url).port).not.toBe(new URL(first.url).port)
  expect(await run(third.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await third.release()
  squatter.close()
})

test('an initdb killed half-way is begun anew, and a damaged cluster is refused, not replaced', async () => {
  const folder = makeFolder()
  const child = spawnOwner(folder)
  await until(() => existsSync(folder) && listInits(folder) > 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const embedded = await startEmbedded({ folder })
  expect(listInits(folder)).toBe(0)
  await embedded.release()
  rmSync(join(folder, 'pg', 'data', 'PG_VERSION'))
  await expect(startEmbedded({ folder })).rejects.toMatchObject({ code: 'EMBEDDED_DAMAGED' })
})

test('the password is for our eyes only, a wrong one is refused, and only loopback listens', async () => {
  const folder = makeFolder()
  const embedded = await startEmbedded({ folder })
  expect(statSync(join(folder, 'pg', 'password')).mode & 0o777).toBe(0o600)
  const forged = new URL(embedded.url)
  forged.password = 'guess'
  await expect(run(forged.href, 'select 1')).rejects.toThrow(/password authentication failed/)
  expect(await run(embedded.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
  const sql = postgres(embedded.url, { max: 1 })
  expect([...(await sql`select 2 as two`)]).toEqual([{ two: 2 }])
  await sql.end()
  await embedded.release()
})

test('an owner whose session is ended by the server wins it back', async () => {
  const folder = makeFolder()
  const embedded = await startEmbedded({ folder })
  await run(embedded.url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pawl owner %'`)
  await until(async () => (await run(embedded.url, `select 1 from pg_locks where locktype = 'advisory' and granted`)).length === 1)
  const { said } = await startOwner(folder)
  expect(said.code).toBe('EMBEDDED_IN_USE')
  await embedded.release()
  expect(pidsOf(folder)).toEqual([])
})

test.runIf(process.getuid?.() === 0)('as root, below a folder closed to others, the data moves to a fallback once and is found again', async () => {
  const closed = makeFolder()
  const folder = join(closed, 'inner')
  const said: string[] = []
  const embedded = await startEmbedded({ folder, log: (line) => said.push(line) })
  folders.push(embedded.folder)
  expect(embedded.folder.startsWith(tmpdir())).toBe(true)
  expect(said.join('\n')).toContain(embedded.folder)
  await run(embedded.url, 'create table kept (n int); insert into kept values (1)')
  await embedded.release()
  const next = await startEmbedded({ folder })
  expect(await run(next.url, 'select n from kept')).toEqual([{ n: 1 }])
  await next.release()
  rmSync(embedded.folder, { recursive: true })
  await expect(startEmbedded({ folder })).rejects.toMatchObject({ code: 'EMBEDDED_DATA_GONE' })
})

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-embedded-test-'))
  folders.push(folder)
  return folder
}

function pidsOf(folder: string): readonly number[] {
  return existsSync(join(folder, 'pg')) ? findServer(resolvePlace(folder, () => undefined)).pids : []
}

function postmasterOf(folder: string): number {
  return findServer(resolvePlace(folder, () => undefined)).postmaster ?? 0
}

function pidFile(folder: string): string {
  return join(folder, 'pg', 'data', 'postmaster.pid')
}

function listInits(folder: string): number {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('init-')).length : 0
}

async function killEverythingIn(folder: string): Promise<void> {
  const first = await startEmbedded({ folder })
  await run(first.url, 'create table kept (n int); insert into kept values (1)')
  for (const pid of pidsOf(folder)) process.kill(pid, 'SIGKILL')
  await first.detach()
  await untilGone(folder)
}

function spawnOwner(folder: string): ChildProcess {
  const script = fileURLToPath(new URL('owner-process.testsuite.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=@pawl/source', script, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

async function startOwner(folder: string): Promise<{ child: ChildProcess; said: Said }> {
  const child = spawnOwner(folder)
  if (child.stdout === null) throw new Error('no pipe')
  for await (const line of createInterface(child.stdout)) return { child, said: JSON.parse(line) as Said }
  throw new Error('the owner ended without a word')
}

function urlOf(said: Said): string {
  if (said.code !== undefined) throw new Error(said.message)
  return said.url
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function run(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url)
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

async function untilGone(folder: string): Promise<void> {
  await until(() => pidsOf(folder).length === 0)
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('waited for 20 s')
    await sleep(5)
  }
}
