/** A folder and a database of one's own for the command's tests, and, where a test wants it, a fleet that works in this process. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Harness } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { connectQueue } from '@pawl/queue'
import { freshDatabase } from '../../../../tests/setup/fixtures.ts'
import { callPawl } from './call-pawl.testsuite.ts'
import { fixtureConfig, runPawl, type Outcome } from './command.testsuite.ts'

/** The defaults, all of them shortened by ten. */
const timings = {
  leaseMs: 1_500, renewEveryMs: 500, sendWindowMs: 500, sweepEveryMs: 100, sweeperLeaseMs: 1_000, heartbeatEveryMs: 500, undeliveredAfterMs: 3_000,
  divergedHoldMs: 100, stopGraceMs: 2_500, settleAgainMs: 50,
}

export interface World {
  readonly folder: string
  readonly url: string
  readonly ledger: Ledger
  readonly env: Readonly<Record<string, string>>
  /** In this process. */
  pawl(...args: string[]): Promise<Outcome>
  /** In a process of its own, as it is for people. */
  child(...args: string[]): Promise<Outcome>
  /** Likewise, with that on its stdin. */
  piped(input: string, ...args: string[]): Promise<Outcome>
  /** Likewise, with its stdout onto that file. */
  onto(file: string, ...args: string[]): Promise<Outcome>
  /** Of a command that must succeed. */
  json<T>(...args: string[]): Promise<T>
  write(name: string, text: string): string
  startFleet(): Promise<void>
  close(): Promise<void>
}

export async function openWorld(options: { migrate: boolean }): Promise<World> {
  const database = await freshDatabase()
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-command-')))
  const ledger = new Ledger({ url: database.url, name: 'test' })
  if (options.migrate) await migrateLedger(ledger)
  const env = { DATABASE_URL: database.url, PAWL_CONFIG: fixtureConfig, FIXTURE_FOLDER: folder, PAWL_LOG_LEVEL: 'error' }
  let stopFleet = async (): Promise<void> => undefined
  const pawl = (...args: string[]): Promise<Outcome> => callPawl(args, { cwd: folder, env })
  return {
    folder, url: database.url, ledger, env, pawl, child: (...args) => runPawl(args, { cwd: folder, env }), piped: (input, ...args) => runPawl(args, { cwd: folder, env, input }),
    onto: (file, ...args) => runPawl(args, { cwd: folder, env, onto: file }),
    async json<T>(...args: string[]): Promise<T> {
      const { code, stdout, stderr } = await pawl(...args, '--json')
      if (code !== 0) throw new Error(`pawl ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout) as T
    },
    write(name, text) {
      writeFileSync(join(folder, name), text)
      return name
    },
    async startFleet() {
      process.env['FIXTURE_FOLDER'] = folder
      const { default: config } = await import('./fixture-config.testsuite.ts')
      const { id: ledgerId } = await readIdentity(ledger)
      const queue = connectQueue({ backend: 'postgres', url: database.url, ledgerId, onError: () => undefined })
      await queue.ready()
      const harness = await Harness.start({ ledger, queue, agents: config.agents, concurrency: 4, roles: ['items', 'splits'], timings, log: () => undefined })
      stopFleet = async () => {
        await harness.stop()
        await queue.close()
      }
    },
    async close() {
      await stopFleet()
      await ledger.close()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
