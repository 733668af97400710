import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addDatabaseOptions, findConfig, findDatabase, type DatabaseOptions } from '../cli/place.ts'
import { queueEnv } from '../cli/queue-env.ts'
import { untilStopped } from '../cli/until-stopped.ts'

interface DashboardOptions extends DatabaseOptions {
  readonly host?: string
  readonly port?: number
  readonly producer?: string
}

/** `pawl dashboard`: the pages and the board, until a signal. JSON: `{ url, loginUrl }` when it listens; later login links go to stderr. */
export function addDashboard(parent: Command): void {
  addLeaf<DashboardOptions>(parent, {
    usage: 'dashboard', about: 'pages for people, and the queue on Bull Board',
    options: (command) => addDatabaseOptions(command
      .option('--producer <url>', 'the producer it shows (default: PAWL_PRODUCER_URL, or http://127.0.0.1:3000)')
      .option('--host <host>', 'address to listen on (default: PAWL_HOST, or 127.0.0.1); others need PAWL_DASHBOARD_USERS')
      .option('--port <port>', 'default: PAWL_PORT, or 3001', wholeNumber(0, 65_535))),
    async run({ options, out }) {
      const stopped = untilStopped()
      const place = await findDatabase(options, out)
      const queue = queueEnv(place.config ?? await findConfig(options.config))
      const { startDashboard } = await import('@pawl/dashboard')
      let isUp = false
      const dashboard = await startDashboard({
        ...process.env, ...queue.variables, DATABASE_URL: place.url,
        ...(options.producer === undefined ? {} : { PAWL_PRODUCER_URL: options.producer }),
        ...(options.host === undefined ? {} : { PAWL_HOST: options.host }),
        ...(options.port === undefined ? {} : { PAWL_PORT: String(options.port) }),
      }, { printLink: (link) => { if (isUp) process.stderr.write(`Log in with this link, once: ${link}\n`) } })
      isUp = true
      out.emit({ url: dashboard.url, loginUrl: dashboard.loginUrl ?? null })
      out.line(`The dashboard listens on ${dashboard.url}. Ctrl-C stops it.`)
      if (dashboard.loginUrl !== undefined) out.line(`Log in with this link, once: ${dashboard.loginUrl}`)
      await stopped
      await dashboard.close()
      return exitOf.ok
    },
  })
}
