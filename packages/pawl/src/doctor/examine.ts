/** All checks in the order they lean on each other: without a place no Postgres, without a schema no fleet. Loaded only by the doctor: the queue's driver is heavy. */
import type { PawlConfig } from '@pawl/harness'
import { Ledger, readIdentity } from '@pawl/ledger'
import type { Output } from '../cli/output.ts'
import { findConfig, findDatabase, type DatabaseOptions } from '../cli/place.ts'
import { checkFleet } from './check-fleet.ts'
import { checkNode } from './check-node.ts'
import { checkPostgres } from './check-postgres.ts'
import { checkQueue } from './check-queue.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export async function examine(options: DatabaseOptions, out: Output): Promise<Finding[]> {
  const [config, loaded] = await checkConfig(options.config)
  const own = [checkNode(process.versions.node), loaded]
  const place = await findDatabase(options, out).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
  if (place instanceof Error) return [...own, fail('postgres', place.message, 'Name the database, or run: pawl dev')]
  const ledger = new Ledger({ url: place.url, name: 'pawl-doctor' })
  try {
    const { findings, isReadable } = await checkPostgres(ledger)
    if (!isReadable) return [...own, ...findings]
    const { id } = await readIdentity(ledger)
    return [...own, ...findings, ...(await checkQueue(ledger, place.url, id, config)), ...(await checkFleet(ledger, config?.agents))]
  } finally {
    await ledger.close()
  }
}

async function checkConfig(path: string | undefined): Promise<[PawlConfig | undefined, Finding]> {
  try {
    const config = await findConfig(path)
    if (config === undefined) return [undefined, warn('config', 'this folder has no pawl.config.ts or .js', 'Go to the folder that has it, or name it with --config.')]
    const names = config.agents.map((agent) => `${agent.name}@${agent.version}`)
    return [config, config.agents.length > 0 ? ok('config', `the config loads: ${names.join(', ')}`) : warn('config', 'the config loads and names no agent', 'Add one to agents: [...].')]
  } catch (error) {
    return [undefined, fail('config', error instanceof Error ? error.message : String(error), 'Mend it, or name another with --config.')]
  }
}
