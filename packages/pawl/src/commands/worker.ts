import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addDatabaseOptions, findDatabase, fromEnv, type DatabaseOptions } from '../cli/place.ts'
import { wholeNumber } from '../cli/parse.ts'
import { many } from '../cli/plain.ts'
import { untilStopped } from '../cli/until-stopped.ts'

interface WorkerOptions extends DatabaseOptions {
  readonly processes?: number
  readonly concurrency?: number
  readonly port?: number
}

/** `pawl worker`: the fleet of this host, until a signal; items under way are handed back. JSON: `{ processes, healthUrl }` when it begins. */
export function addWorker(parent: Command): void {
  addLeaf<WorkerOptions>(parent, {
    usage: 'worker', about: 'work on runs: a supervisor and its worker processes',
    options: (command) => addDatabaseOptions(command
      .option('--processes <n>', 'worker processes (default: PAWL_PROCESSES, or 1)', wholeNumber(1, 64))
      .option('--concurrency <n>', 'items one process works on at once (default: PAWL_CONCURRENCY, or 10)', wholeNumber(1, 1_000))
      .option('--port <port>', 'serve /health, /ready and /metrics on this port (default: PAWL_WORKER_PORT or PAWL_PORT, else not at all)', wholeNumber(0, 65_535))),
    async run({ options, out }) {
      const stopped = untilStopped()
      const { url } = await findDatabase(options, out)
      const { startWorkers } = await import('@pawl/worker')
      const port = options.port?.toString() ?? fromEnv('PAWL_WORKER_PORT') ?? fromEnv('PAWL_PORT')
      const workers = await startWorkers({
        ...process.env, DATABASE_URL: url,
        ...(options.config === undefined ? {} : { PAWL_CONFIG: options.config }),
        ...(options.processes === undefined ? {} : { PAWL_PROCESSES: String(options.processes) }),
        ...(options.concurrency === undefined ? {} : { PAWL_CONCURRENCY: String(options.concurrency) }),
        ...(port === undefined ? {} : { PAWL_WORKER_PORT: port }),
      })
      const processes = options.processes ?? Number(fromEnv('PAWL_PROCESSES') ?? 1)
      out.emit({ processes, healthUrl: workers.healthUrl ?? null })
      out.line(`${many(processes, 'worker process', 'worker processes')} at work${workers.healthUrl === undefined ? '' : `, health at ${workers.healthUrl}/ready`}. Ctrl-C hands everything back and stops.`)
      const signal = await stopped
      out.line(`${signal}: handing back and stopping.`)
      await workers.stop()
      return exitOf.ok
    },
  })
}
