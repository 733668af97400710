/** Starts each app with each environment of `PAWL_TRIES` and says how it went, as its `main` would and more: one process for many refusals, all at once. */
import { runCommand } from '../../../packages/pawl/src/cli/program.ts'
import { startDashboard } from '../../../apps/dashboard/src/index.ts'
import { startProducer } from '../../../apps/producer/src/index.ts'
import { startWorkers } from '../../../apps/worker/src/index.ts'

const tries = JSON.parse(process.env['PAWL_TRIES'] ?? '[]') as Readonly<Record<string, string>>[]
const within = async <T>(work: Promise<T>): Promise<T> => await Promise.race([work, new Promise<never>((_, reject) => { setTimeout(() => reject(new Error('still trying')), 8_000) })])

async function tryAll(given: Readonly<Record<string, string>>): Promise<void> {
  const env = { ...process.env, PAWL_PORT: '0', ...given }
  const apps = { producer: () => startProducer({ env }), dashboard: () => startDashboard(env), worker: () => startWorkers(env) }
  await Promise.all(Object.entries(apps).map(async ([name, start]) => {
    try {
      const app = await within(start() as Promise<{ close?(): Promise<void>; stop?(): Promise<void> }>)
      await (app.close?.() ?? app.stop?.())
      process.stderr.write(`started ${name} with ${Object.keys(given).join()}\n`)
    } catch (error) {
      process.stderr.write(`refused ${name} with ${Object.keys(given).join()}: ${error instanceof Error ? `${error.message} | ${error.stack ?? ''}` : String(error)}\n`)
    }
  }))
  const { DATABASE_URL: url } = given
  if (url === undefined) return
  for (const command of [['run', 'list'], ['doctor'], ['migrate']]) await within(runCommand([...command, '--database', url])).catch((error: unknown) => process.stderr.write(`${String(error)}\n`))
}

await Promise.all(tries.map(tryAll))
process.stderr.write('all were tried\n', () => process.exit(0))
