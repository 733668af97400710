import type { PawlConfig } from '@pawl/harness'
import { Ledger, readIdentity } from '@pawl/ledger'
import type { Command } from 'commander'
import colors from 'picocolors'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addDatabaseOptions, findConfig, findDatabase, type DatabaseOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { paintStatus } from '../cli/status.ts'
import { checkFleet } from '../doctor/check-fleet.ts'
import { checkPostgres } from '../doctor/check-postgres.ts'
import { checkQueue } from '../doctor/check-queue.ts'
import { fail, ok, warn, type Finding } from '../doctor/finding.ts'

/** `pawl doctor`: every line ok, warn or fail with its fix; exit 1 on fail. JSON: `{ ok, findings: Finding[] }`. */
export function addDoctor(parent: Command): void {
  addLeaf<DatabaseOptions>(parent, {
    usage: 'doctor', about: 'look at config, Postgres, queue and fleet; say what is wrong and how to mend it', options: addDatabaseOptions,
    async run({ options, out }) {
      const findings = await examine(options, out)
      const failed = findings.filter((finding) => finding.level === 'fail').length
      const warned = findings.filter((finding) => finding.level === 'warn').length
      out.emit({ ok: failed === 0, findings })
      for (const { level, check, sentence, fix } of findings) {
        out.line(`${paintStatus(level.padEnd(4))}  ${colors.bold(check.padEnd(17))}  ${sentence}`)
        if (fix !== undefined) out.line(`${' '.repeat(25)}${colors.cyan(`→ ${fix}`)}`)
      }
      out.line(failed + warned === 0 ? '\nAll is well.' : `\n${many(failed, 'failure')}, ${many(warned, 'warning')}.`)
      return failed === 0 ? exitOf.ok : exitOf.failed
    },
  })
}

async function examine(options: DatabaseOptions, out: Output): Promise<Finding[]> {
  const [config, finding] = await checkConfig(options.config)
  const place = await findDatabase(options, out).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
  if (place instanceof Error) return [finding, fail('postgres', place.message, 'Name the database, or run: pawl dev')]
  const ledger = new Ledger({ url: place.url, name: 'pawl-doctor' })
  try {
    const { findings, isReadable } = await checkPostgres(ledger)
    if (!isReadable) return [finding, ...findings]
    const { id } = await readIdentity(ledger)
    return [finding, ...findings, ...(await checkQueue(place.url, id, config)), ...(await checkFleet(ledger, config?.agents))]
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
