import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addDatabaseOptions, findDatabase, type DatabaseOptions } from '../cli/place.ts'
import { untilStopped } from '../cli/until-stopped.ts'

interface ProducerOptions extends DatabaseOptions {
  readonly host?: string
  readonly port?: number
}

/** `pawl producer`: the HTTP API, until a signal. JSON: `{ url }` when it listens. */
export function addProducer(parent: Command): void {
  addLeaf<ProducerOptions>(parent, {
    usage: 'producer', about: 'accept runs over HTTP',
    options: (command) => addDatabaseOptions(command
      .option('--host <host>', 'address to listen on (default: PAWL_HOST, or 127.0.0.1); others need PAWL_TOKENS')
      .option('--port <port>', 'default: PAWL_PORT, or 3000', wholeNumber(0, 65_535))),
    async run({ options, out }) {
      const stopped = untilStopped()
      const { url: databaseUrl } = await findDatabase(options, out)
      const { startProducer } = await import('@pawl/producer')
      const producer = await startProducer({ env: {
        ...process.env, DATABASE_URL: databaseUrl,
        ...(options.config === undefined ? {} : { PAWL_CONFIG: options.config }),
        ...(options.host === undefined ? {} : { PAWL_HOST: options.host }),
        ...(options.port === undefined ? {} : { PAWL_PORT: String(options.port) }),
      } })
      out.emit({ url: producer.url })
      out.line(`The producer listens on ${producer.url} (its API: ${producer.url}/docs). Ctrl-C stops it.`)
      await stopped
      await producer.close()
      return exitOf.ok
    },
  })
}
