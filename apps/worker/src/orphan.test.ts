/** A worker process does not outlive its supervisor, whatever it was at, and what it started does not outlive the worker. Real processes of the built worker. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ledger, migrateLedger } from '@pawl/ledger'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'

const program = fileURLToPath(new URL('../dist/main.js', import.meta.url))

test('a worker process whose supervisor is killed while it starts ends too', async () => {
  const database = await freshDatabase()
  const ledger = new Ledger({ url: database.url, connections: 1 })
  await migrateLedger(ledger)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-orphan-'))
  const pidFile = join(folder, 'pid')
  // The child, unlike its supervisor, never gets past its config.
  writeFileSync(join(folder, 'pawl.config.mjs'), `import { writeFileSync } from 'node:fs'
    if (process.env.PAWL_WORKER_ID !== undefined) { writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); await new Promise((resolve) => setTimeout(resolve, 600_000)) }
    export default { agents: [] }`)
  const supervisor = spawn(process.execPath, [program], { env: { ...process.env, DATABASE_URL: database.url, PAWL_QUEUE: 'postgres', PAWL_CONFIG: join(folder, 'pawl.config.mjs'), PAWL_LOG_LEVEL: 'silent' }, stdio: 'ignore' })
  let child = 0
  try {
    await until('the child starts', () => existsSync(pidFile) && (child = Number(readFileSync(pidFile, 'utf8'))) > 0)
    supervisor.kill('SIGKILL')
    await once(supervisor, 'exit')
    await until('the child is gone', () => !isAlive(child))
    expect(isAlive(child)).toBe(false)
  } finally {
    if (child > 0 && isAlive(child)) process.kill(child, 'SIGKILL')
    supervisor.kill('SIGKILL')
    await ledger.close()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})

const spawner = new URL('../../../packages/tools/dist/process-group.js', import.meta.url).href
const startsServer = (pidFile: string): string => `import { writeFileSync } from 'node:fs'
  import { spawnGroup } from ${JSON.stringify(spawner)}
  const group = await spawnGroup({ command: 'sh', args: ['-c', 'sleep 600 & sleep 600'], cwd: undefined, env: { PATH: process.env.PATH } })
  writeFileSync(${JSON.stringify(pidFile)}, group.pid + ' ' + process.pid)`

test('a server and what it started end when the process that started them is killed with -9', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-group-'))
  const pidFile = join(folder, 'pid')
  const child = spawn(process.execPath, ['--input-type=module', '-e', `${startsServer(pidFile)}; setInterval(() => {}, 1000)`], { stdio: 'ignore' })
  try {
    await until('the group is there', () => existsSync(pidFile) && membersOf(readPids(pidFile)[0]).length >= 4)
    child.kill('SIGKILL')
    await until('the group is gone', () => membersOf(readPids(pidFile)[0]).length === 0)
    expect(membersOf(readPids(pidFile)[0])).toEqual([])
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the supervisor ends the groups of a dead worker itself, even where nothing in them notices', async () => {
  const database = await freshDatabase()
  const ledger = new Ledger({ url: database.url, connections: 1 })
  await migrateLedger(ledger)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-group-'))
  const pidFile = join(folder, 'pid')
  writeFileSync(join(folder, 'pawl.config.mjs'), `import { existsSync } from 'node:fs'
    if (process.env.PAWL_WORKER_ID !== undefined && !existsSync(${JSON.stringify(pidFile)})) { ${startsServer(pidFile).replaceAll(/^\s*import .*$/gm, '')} }
    export default { agents: [] }`.replace("import { existsSync } from 'node:fs'", `import { existsSync, writeFileSync } from 'node:fs'; import { spawnGroup } from ${JSON.stringify(spawner)}`))
  const supervisor = spawn(process.execPath, [program], { env: { ...process.env, DATABASE_URL: database.url, PAWL_QUEUE: 'postgres', PAWL_CONFIG: join(folder, 'pawl.config.mjs'), PAWL_LOG_LEVEL: 'silent' }, stdio: 'ignore' })
  try {
    await until('the group is there', () => existsSync(pidFile) && membersOf(readPids(pidFile)[0]).length >= 4)
    const [group, worker] = readPids(pidFile)
    // The one in the group that would notice by itself: the leader's first child.
    const watcher = membersOf(group).filter(({ parent }) => parent === group).toSorted((a, b) => a.pid - b.pid)[0]
    process.kill(watcher?.pid ?? 0, 'SIGKILL')
    process.kill(worker, 'SIGKILL')
    await until('the group is gone', () => membersOf(group).length === 0)
    expect(membersOf(group)).toEqual([])
  } finally {
    supervisor.kill('SIGTERM')
    await once(supervisor, 'exit')
    for (const { pid } of existsSync(pidFile) ? membersOf(readPids(pidFile)[0]) : []) process.kill(pid, 'SIGKILL')
    await ledger.close()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})

function readPids(file: string): [number, number] {
  const [group = 0, own = 0] = readFileSync(file, 'utf8').split(' ').map(Number)
  return [group, own]
}

/** Living members of a process group, from /proc. */
function membersOf(group: number): { pid: number; parent: number }[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const [state, parent, own] = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
      return Number(own) === group && state !== 'Z' ? [{ pid: Number(name), parent: Number(parent) }] : []
    } catch {
      return []
    }
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`waited 10 s in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
