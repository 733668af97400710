/** `npm run chaos`: one chaos run on an embedded Postgres of its own. The last line with `--json` is the report; the exit code is 1 unless it is ok. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbedded } from '@pawl/embedded'
import { Ledger } from '@pawl/ledger'
import { runChaos } from './run-chaos.ts'
import type { ChaosReport } from './tally.ts'

const usage = 'npm run chaos -- [--tier virtual] [--faults N] [--seed S] [--minutes M] [--breadth N] [--json]'
const shownProblems = 40

function readArguments(): { faults: number; seed: number; minutes?: number; breadth?: number; json: boolean } {
  const { values } = parseArgs({ options: {
    tier: { type: 'string', default: 'virtual' }, faults: { type: 'string', default: '2000' }, seed: { type: 'string' }, minutes: { type: 'string' }, breadth: { type: 'string' }, json: { type: 'boolean', default: false },
  } })
  if (values.tier !== 'virtual') throw new Error(`there is no tier "${values.tier}" here; there is: virtual`)
  const numberOf = (name: string, text: string): number => {
    const n = Number(text)
    if (!Number.isFinite(n) || n < 0) throw new Error(`--${name} wants a number, not "${text}"`)
    return n
  }
  return {
    faults: numberOf('faults', values.faults), json: values.json,
    seed: values.seed === undefined ? Date.now() % 1_000_000 : numberOf('seed', values.seed),
    ...(values.minutes === undefined ? {} : { minutes: numberOf('minutes', values.minutes) }),
    ...(values.breadth === undefined ? {} : { breadth: numberOf('breadth', values.breadth) }),
  }
}

const say = (line: string): void => void process.stderr.write(`chaos: ${line}\n`)

async function main(): Promise<boolean> {
  const { json, ...asked } = readArguments()
  say(`seed ${asked.seed}, until ${asked.faults} faults${asked.minutes === undefined ? '' : ` or ${asked.minutes} minutes`}`)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-chaos-'))
  // Postgres runs as another user where we are root, and has to pass through.
  chmodSync(folder, 0o711)
  const postgres = await startEmbedded({ folder: join(folder, 'postgres') })
  try {
    await forgoFsync(postgres.url)
    const { problems, ...figures } = await runChaos({ ...asked, url: postgres.url, say })
    for (const problem of problems.slice(0, shownProblems)) say(problem)
    if (problems.length > shownProblems) say(`and ${problems.length - shownProblems} more`)
    process.stdout.write(json ? `${JSON.stringify(figures)}\n` : inWords(figures))
    return figures.ok
  } finally {
    await postgres.release()
    for (const path of [postgres.folder, folder]) rmSync(path, { recursive: true, force: true })
  }
}

/** Backends are killed in this tier, the machine is not: what a commit costs on disk proves nothing here. */
async function forgoFsync(url: string): Promise<void> {
  const ledger = new Ledger({ url, connections: 1 })
  await ledger.query('alter system set fsync = off')
  await ledger.query('select pg_reload_conf()')
  await ledger.close()
}

function inWords({ counters, ...figures }: Omit<ChaosReport, 'problems'>): string {
  const lines = [...Object.entries(figures), ...Object.entries(counters)].map(([name, value]) => `${name.padEnd(28)} ${String(value)}`)
  return `${lines.join('\n')}\n`
}

try {
  process.exit((await main()) ? 0 : 1)
} catch (error) {
  say(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\nusage: ${usage}`)
  process.exit(2)
}
