import type { Command } from 'commander'
import colors from 'picocolors'
import { exitOf } from '../cli/exit-codes.ts'
import { reportFailure } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { wholeNumber } from '../cli/parse.ts'
import { fromEnv } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { ServiceStack } from '../cli/service-stack.ts'
import { untilStopped } from '../cli/until-stopped.ts'
import type { Dev } from '../dev/start-dev.ts'

interface DevOptions {
  readonly config?: string
  readonly processes: number
  readonly port: number
  readonly dashboardPort: number
}

/** `pawl dev`: all of Pawl in this folder until Ctrl-C, with a Postgres of its own. JSON: `Dev` when everything is up. */
export function addDev(parent: Command): void {
  addLeaf<DevOptions>(parent, {
    usage: 'dev', about: 'everything on this machine in one: Postgres, workers, producer, dashboard',
    options: (command) => void command
      .option('--config <file>', 'pawl.config.ts or .js (default: the one in this folder)')
      .option('--processes <n>', 'worker processes', wholeNumber(1, 64), 2)
      .option('--port <port>', "the producer's; a taken one is replaced by a free one", wholeNumber(0, 65_535), 3_000)
      .option('--dashboard-port <port>', "the dashboard's; likewise", wholeNumber(0, 65_535), 3_001),
    async run({ options, out }) {
      const stopped = untilStopped()
      const services = new ServiceStack()
      if (fromEnv('DATABASE_URL') !== undefined) out.remark('DATABASE_URL is set and not used: dev has a Postgres of its own. For that one there are pawl worker, producer and dashboard.')
      try {
        const { startDev } = await import('../dev/start-dev.ts')
        const dev = await startDev({
          config: options.config ?? fromEnv('PAWL_CONFIG'), processes: options.processes, port: options.port, dashboardPort: options.dashboardPort,
          log: (line) => out.remark(line), onLoginLink: (url) => process.stderr.write(`Log in with this link, once: ${url}\n`),
        }, services)
        out.emit(dev)
        show(out, dev, options.processes)
        const signal = await stopped
        out.line(`\n${signal}: stopping; items under way are handed back. The same signal again ends at once.`)
      } finally {
        const failures = await services.stop((name) => { if (name !== 'session') out.remark(`stopping ${name}`) })
        for (const failure of failures) reportFailure(failure, { json: out.isJson, verbose: false })
      }
      return exitOf.ok
    },
  })
}

function show(out: Output, dev: Dev, processes: number): void {
  const link = (text: string): string => colors.cyan(text)
  const workers = dev.pids.length === processes ? many(processes, 'process', 'processes') : `${dev.pids.length} of ${processes} processes so far`
  out.line(`
${colors.bold('Pawl is up')}  ${dev.agents.join(', ') || 'the config names no agent yet'}

  dashboard  ${link(dev.loginUrl ?? dev.dashboardUrl)}${dev.loginUrl === undefined ? '' : '  (logs in once)'}
  producer   ${link(dev.producerUrl)}  API at ${link(`${dev.producerUrl}/docs`)}
  workers    ${workers}
  ledger     Postgres in ${dev.folder}${dev.adopted ? ', taken over from a dev that was killed: its runs go on' : ''}
  queue      ${dev.queue === 'redis' ? 'Redis' : 'in the same Postgres (REDIS_URL would use Redis)'}

In another terminal, in this folder:
  pawl run start ${dev.agents[0]?.split('@')[0] ?? '<agent>'} --input '{…}' --watch
  pawl run list · pawl inbox · pawl doctor

Ctrl-C stops everything.`)
}
