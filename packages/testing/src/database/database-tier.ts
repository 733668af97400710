/** What a Postgres that dies, is killed at work, goes silent, or sits behind a pooler does to the ledger's doors. Each part on a server of its own. */
import { setTimeout as pause } from 'node:timers/promises'
import { Ledger } from '@pawl/ledger'
import type { TierReport, TierRequest } from '../chaos/tiers.ts'
import { startFaultProxy } from '../fault-proxy.ts'
import { CrashServer } from './crash-server.ts'
import { loadLedger, type LoadReport } from './ledger-load.ts'
import { findPgBouncer, startPgBouncer } from './pgbouncer.ts'

type Part = (server: CrashServer, forMs: number, count: (what: string) => void) => Promise<LoadReport>

const parts: Readonly<Record<string, Part>> = {
  killedBackends: (server, forMs, count) => loadLedger(server.url, server.url, () => killBackends(server.url, 'load', forMs, () => count('backendsKilled'))),
  crashes: (server, forMs, count) => loadLedger(server.url, server.url, () => every(forMs, 6_000, async () => {
    await server.crash()
    count('crashes')
  })),
  halfOpen: async (server, forMs, count) => {
    const proxy = await startFaultProxy(server.url)
    try {
      return await loadLedger(proxy.url, server.url, async () => {
        await every(forMs, 8_000, async () => {
          proxy.halfOpen()
          count('halfOpen')
        })
      }, { deadlineMs: 3_000, statementTimeoutMs: 2_000 })
    } finally {
      await proxy.close()
    }
  },
  pgbouncer: async (server, forMs, count) => {
    const pooler = await startPgBouncer(server.url)
    try {
      return await loadLedger(pooler.url, server.url, () => killBackends(server.url, 'load', forMs, () => count('pooledBackendsKilled')), { prepare: false })
    } finally {
      await pooler.stop()
    }
  },
}

export async function databaseTier(request: TierRequest): Promise<TierReport & { parts: Readonly<Record<string, Omit<LoadReport, 'problems'>>> }> {
  const forMs = request.minutes === undefined ? 60_000 : request.minutes * 60_000 / Object.keys(parts).length
  const problems: string[] = []
  const counters: Record<string, number> = { backendsKilled: 0, crashes: 0, halfOpen: 0, pooledBackendsKilled: 0 }
  const reports: Record<string, Omit<LoadReport, 'problems'>> = {}
  const uncaught = (error: unknown): void => void problems.push(`uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  process.on('uncaughtException', uncaught)
  process.on('unhandledRejection', uncaught)
  try {
    for (const [name, part] of Object.entries(parts)) {
      if (name === 'pgbouncer' && findPgBouncer() === null) {
        problems.push('pgbouncer is not on PATH: install it (Debian: apt-get install pgbouncer)')
        continue
      }
      request.say(`${name} for ${Math.round(forMs / 1_000)} s`)
      const { problems: found, ...report } = await withServer((server) => part(server, forMs, (what) => { counters[what] = (counters[what] ?? 0) + 1 }))
      reports[name] = report
      problems.push(...found.map((problem) => `${name}: ${problem}`))
      request.say(`${name}: ${JSON.stringify(report)}`)
    }
  } finally {
    process.off('uncaughtException', uncaught)
    process.off('unhandledRejection', uncaught)
  }
  for (const [what, n] of Object.entries(counters)) if (n === 0) problems.push(`${what} never happened`)
  return { ok: problems.length === 0, problems, counters, parts: reports }
}

async function withServer<T>(use: (server: CrashServer) => Promise<T>): Promise<T> {
  const server = await CrashServer.start()
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

async function every(forMs: number, everyMs: number, strike: () => Promise<void>): Promise<void> {
  const end = Date.now() + forMs
  while (Date.now() + everyMs / 2 < end) {
    await pause(everyMs / 2)
    await strike()
    await pause(everyMs / 2)
  }
}

/** One server process after another, those at work first, at uneven pauses. */
export async function killBackends(url: string, name: string, forMs: number, onKill: () => void): Promise<void> {
  const control = new Ledger({ url, name: 'killer', connections: 1 })
  const end = Date.now() + forMs
  for (let n = 0; Date.now() < end; n++) {
    const rows = await control.query<{ killed: boolean }>(`select pg_terminate_backend(x.pid) as killed from (
      select a.pid from pg_stat_activity a where a.backend_type = 'client backend' and a.application_name = $1
      order by a.state <> 'idle' desc, random() limit 1) x`, [name]).catch((): { killed: boolean }[] => [])
    for (const { killed } of rows) if (killed) onKill()
    await pause(10 + (n * 37) % 90)
  }
  await control.close()
}
