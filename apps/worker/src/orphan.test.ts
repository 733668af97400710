/** A worker process does not outlive its supervisor, whatever it was at. Real processes of the built worker. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
