/**
 * Which Pawl a command speaks to. What is typed wins over the environment, that over a `pawl dev` running in this folder, that over
 * pawl.config. Over a database the commands write to the ledger and ring nothing: the fleet's sweep rings within a second or two.
 */
import { userInfo } from 'node:os'
import { createClient, type PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import type { PawlConfig } from '@pawl/harness'
import { checkSchema, Ledger } from '@pawl/ledger'
import type { Command } from 'commander'
import { readDevSession } from './dev-session.ts'
import { openEmbedded } from './embedded-place.ts'
import { UsageError } from './fail.ts'
import type { Output } from './output.ts'

export interface DatabaseOptions {
  readonly database?: string
  readonly embedded?: string
  readonly config?: string
}

export interface PlaceOptions extends DatabaseOptions {
  readonly url?: string
  readonly token?: string
  readonly namespace?: string
}

export const addDatabaseOptions = (command: Command): Command => command
  .option('--database <url>', "the ledger's Postgres (default: DATABASE_URL)")
  .option('--embedded <folder>', 'an embedded Postgres that is not running: started for this command')
  .option('--config <file>', 'pawl.config.ts or .js (default: the one in this folder)')

export const addPlaceOptions = (command: Command): Command => addDatabaseOptions(command
  .option('--url <url>', 'a producer, to work over HTTP (default: PAWL_URL)')
  .option('--token <token>', 'its bearer token (better: PAWL_TOKEN, which other users of this machine cannot read)'))
  .option('--namespace <name>', 'over a database: whose runs (default: PAWL_NAMESPACE, or "default")')

type Place = { readonly kind: 'http'; readonly url: string } | { readonly kind: 'database'; readonly url: string; readonly config: PawlConfig | undefined }

/** `agents`: inputs and results are checked by them, so a config that does not load is an error; otherwise it is not even read. */
export async function openClient(options: PlaceOptions, out: Output, need: { agents?: boolean; actor?: string } = {}): Promise<PawlClient> {
  if (options.url !== undefined && options.database !== undefined) throw new UsageError('Give --url or --database, not both: one works over HTTP, the other on the ledger itself.')
  const place = await findPlace(options, out)
  if (place.kind === 'http') {
    const token = options.token ?? fromEnv('PAWL_TOKEN')
    return createClient({ url: place.url, ...(token === undefined ? {} : { token }) })
  }
  const config = need.agents ? (place.config ?? await findConfig(options.config)) : undefined
  const ledger = new Ledger({ url: place.url, name: 'pawl-cli' })
  try {
    await checkSchema(ledger)
  } catch (error) {
    await ledger.close()
    throw error
  }
  return createClient({
    ledger, namespace: options.namespace ?? fromEnv('PAWL_NAMESPACE') ?? 'default', actor: need.actor ?? cliActor(), close: () => ledger.close(),
    ...(config === undefined ? {} : { agents: config.agents }),
  })
}

/** The ledger itself, for what no service should offer over HTTP: migrations, audits, diagnosis. */
export async function openLedger(options: DatabaseOptions, out: Output): Promise<Ledger> {
  const { url } = await findDatabase(options, out)
  return new Ledger({ url, name: 'pawl-cli' })
}

/** The producer that is meant, if one is. */
export const producerOf = (options: PlaceOptions): string | undefined =>
  options.url ?? (options.database === undefined && options.embedded === undefined ? fromEnv('PAWL_URL') : undefined)

async function findPlace(options: PlaceOptions, out: Output): Promise<Place> {
  const url = producerOf(options)
  if (url === undefined) return await findDatabase(options, out, 'a producer with --url or PAWL_URL, ')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new UsageError('The address of the producer is not a URL. Write it like http://127.0.0.1:3000.')
  return { kind: 'http', url }
}

export async function findDatabase(options: DatabaseOptions, out: Output, alsoName = ''): Promise<Place & { kind: 'database' }> {
  if (options.embedded !== undefined) {
    if (options.database !== undefined) throw new UsageError('Give --database or --embedded, not both.')
    return { kind: 'database', url: await openEmbedded(options.embedded), config: undefined }
  }
  const given = options.database ?? fromEnv('DATABASE_URL')
  if (given !== undefined) return { kind: 'database', url: checkDatabaseUrl(given, options.database === undefined ? 'DATABASE_URL' : '--database'), config: undefined }
  const session = readDevSession()
  if (session !== undefined) {
    out.remark(`(the "pawl dev" of this folder, pid ${session.pid})`)
    return { kind: 'database', url: session.databaseUrl, config: undefined }
  }
  const config = await findConfig(options.config)
  if (config?.databaseUrl !== undefined) return { kind: 'database', url: checkDatabaseUrl(config.databaseUrl, 'databaseUrl in pawl.config'), config }
  throw new PawlError('NO_PLACE', `Where is Pawl? Name ${alsoName}a database with --database or DATABASE_URL, or databaseUrl in pawl.config; or run "pawl dev" in this folder first.`)
}

function checkDatabaseUrl(url: string, source: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new UsageError(`${source} is not the address of a Postgres. Write it like postgres://user:password@host:5432/database.`)
}

/** Undefined: none was named and this folder has none. */
export async function findConfig(path: string | undefined): Promise<PawlConfig | undefined> {
  const { loadConfig } = await import('@pawl/harness')
  const named = path ?? fromEnv('PAWL_CONFIG')
  try {
    return (await loadConfig(named)).config
  } catch (error) {
    if (error instanceof PawlError) {
      if (error.code === 'NO_CONFIG' && named === undefined) return undefined
      throw error
    }
    throw new PawlError('CONFIG_FAILED', `${named ?? 'pawl.config'} could not be loaded: ${error instanceof Error ? error.message : String(error)}. Mend it, or name another with --config.`, 'tell', {}, { cause: error })
  }
}

export function fromEnv(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

/** Named in every event the command causes. */
export function cliActor(): string {
  try {
    return `cli:${userInfo().username}`
  } catch {
    return 'cli'
  }
}
