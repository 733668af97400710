/** `npm run chaos`: plays one tier, or all in turn. With `--json` the last line is the report; the exit code is 1 unless it is ok. */
import { parseArgs } from 'node:util'
import { problemMark } from './shards.ts'
import { tiers, type TierReport, type TierRequest } from './tiers.ts'

const usage = `npm run chaos -- [--tier ${[...Object.keys(tiers), 'all'].join('|')}] [--faults N] [--kills N] [--minutes M] [--seed S] [--breadth N] [--shards N] [--queue redis|postgres] [--cases N,N] [--json]`
const shownProblems = 40

const say = (line: string): void => void process.stderr.write(`chaos: ${line}\n`)

interface Asked {
  readonly names: readonly string[]
  readonly request: TierRequest
  readonly json: boolean
}

function readArguments(): Asked {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: {
    tier: { ...text, default: 'virtual' }, faults: { ...text, default: '2000' }, kills: { ...text, default: '300' }, seed: text, minutes: text, breadth: text, shards: text, queue: text, cases: text,
    json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false },
  } })
  if (values.help) {
    process.stdout.write(`${usage}\nWhat each does: docs/chaos.md\n`)
    process.exit(0)
  }
  const names = values.tier === 'all' ? Object.keys(tiers) : [values.tier]
  if (!names.every((name) => name in tiers)) throw new Error(`there is no tier "${values.tier}"; there are: ${Object.keys(tiers).join(', ')}, all`)
  const queue = values.queue
  if (queue !== undefined && queue !== 'redis' && queue !== 'postgres') throw new Error(`--queue wants redis or postgres, not "${queue}"`)
  const numberOf = (name: string, given: string): number => {
    const n = Number(given)
    if (!Number.isFinite(n) || n < 0) throw new Error(`--${name} wants a number, not "${given}"`)
    return n
  }
  return {
    names, json: values.json,
    request: {
      faults: numberOf('faults', values.faults), kills: numberOf('kills', values.kills), say,
      seed: values.seed === undefined ? Date.now() % 1_000_000 : numberOf('seed', values.seed),
      ...(values.minutes === undefined ? {} : { minutes: numberOf('minutes', values.minutes) }),
      ...(values.breadth === undefined ? {} : { breadth: numberOf('breadth', values.breadth) }),
      ...(values.shards === undefined ? {} : { shards: numberOf('shards', values.shards) }),
      ...(queue === undefined ? {} : { queue }),
      ...(values.cases === undefined ? {} : { cases: values.cases.split(',').map((one) => numberOf('cases', one)) }),
    },
  }
}

async function playTier(name: string, request: TierRequest): Promise<Omit<TierReport, 'problems'>> {
  say(`${name}, seed ${request.seed}`)
  const tier = tiers[name]
  if (tier === undefined) throw new Error(`there is no tier "${name}"`)
  const { problems, ...figures } = await tier(request)
  for (const problem of problems.slice(0, shownProblems)) process.stderr.write(`${problemMark}${problem}\n`)
  if (problems.length > shownProblems) say(`and ${problems.length - shownProblems} more`)
  return figures
}

async function main(): Promise<boolean> {
  const { names, request, json } = readArguments()
  const reports = new Map<string, Omit<TierReport, 'problems'>>()
  for (const name of names) {
    const figures = await playTier(name, request)
    reports.set(name, figures)
    if (!json) process.stdout.write(inWords(name, figures))
  }
  const ok = [...reports.values()].every((report) => report.ok)
  const [only] = reports.values()
  if (json) process.stdout.write(`${JSON.stringify(reports.size === 1 ? only : { tiers: Object.fromEntries(reports), ok })}\n`)
  return ok
}

function inWords(name: string, { counters = {}, ...figures }: Omit<TierReport, 'problems'>): string {
  const lines = [...Object.entries(figures), ...Object.entries(counters)].map(([label, value]) => `${label.padEnd(28)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
  return `${name}\n${lines.join('\n')}\n`
}

try {
  process.exit((await main()) ? 0 : 1)
} catch (error) {
  // A wrong option is told in a sentence; anything else by where it happened.
  const isUsage = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  say(`${error instanceof Error ? (isUsage ? error.message : (error.stack ?? error.message)) : String(error)}\nusage: ${usage}`)
  process.exit(2)
}
