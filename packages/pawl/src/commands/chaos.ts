import { PawlError } from '@pawl/core'
import { loadConfig } from '@pawl/harness'
import { checkSchema, Ledger } from '@pawl/ledger'
import { createClient } from '@pawl/client'
import type { Command } from 'commander'
import colors from 'picocolors'
import { judgeRun, type RunVerdict } from '../chaos/judge-run.ts'
import { killWorkers, type Killed } from '../chaos/kill-workers.ts'
import { Receipts } from '../chaos/receipts.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { ItemsFile } from '../cli/items-file.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { readJson, wholeNumber } from '../cli/parse.ts'
import { addDatabaseOptions, cliActor, findDatabase, fromEnv, type DatabaseOptions } from '../cli/place.ts'
import { many, plain } from '../cli/plain.ts'
import { queueEnv } from '../cli/queue-env.ts'

interface ChaosOptions extends DatabaseOptions {
  readonly input?: string
  readonly items?: string
  readonly kills: number
  readonly seed?: number
  readonly processes: number
  readonly minutes: number
  readonly receipts?: string
  readonly iKnowThisIsProduction?: boolean
}

/** What `--json` prints, once the run has ended. `duplicates` and `lost` are null where no receipts say. */
export interface ChaosVerdict extends Omit<RunVerdict, 'problems'> {
  readonly run: string
  readonly status: string
  readonly seed: number
  readonly kills: number
  /** Calls that had begun and not ended when their worker was killed. */
  readonly inFlight: number
  readonly seconds: number
  readonly ok: boolean
  readonly problems: readonly string[]
}

/** `pawl chaos <agent>`: a run of one's own agent whose workers are killed. JSON: `ChaosVerdict`. Exit 1 when something is wrong, 3 when only doubts are left. */
export function addChaos(parent: Command): void {
  addLeaf<ChaosOptions>(parent, {
    usage: 'chaos <agent>', about: 'start a run of an agent, kill its workers at random steps, and report what was done twice or never (for staging)',
    options: (command) => addDatabaseOptions(command
      .option('--input <json>', "the run's input: JSON, @file.json, or @- for stdin")
      .option('--items <file>', 'items in place of the agent\'s split: a file of lines {"key": …, "payload": …}')
      .option('--kills <n>', 'workers to kill, while the run lasts', wholeNumber(1, 100_000), 20)
      .option('--seed <n>', 'whom and when: the same seed draws the same', wholeNumber(0, 2 ** 31))
      .option('--processes <n>', 'worker processes to start for it', wholeNumber(1, 64), 3)
      .option('--minutes <n>', 'how long the run may take', wholeNumber(1, 1_440), 10)
      .option('--receipts <file|url>', 'what the receiving side did: one {"operation", "subject", "key"} a line')
      .option('--i-know-this-is-production', 'do it although NODE_ENV is production')),
    async run({ args, options, out }) {
      const [agent = ''] = args
      if (fromEnv('NODE_ENV') === 'production' && options.iKnowThisIsProduction !== true) {
        throw new PawlError('CHAOS_IN_PRODUCTION', 'NODE_ENV is production, and this kills worker processes and really calls your tools. Run it in staging, or add --i-know-this-is-production.')
      }
      const verdict = await playChaos(agent, options, out)
      out.emit(verdict)
      tell(out, verdict)
      return verdict.ok ? (isWaiting(verdict) ? exitOf.blocked : exitOf.ok) : exitOf.failed
    },
  })
}

const waiting = 'waits for a person'
const isWaiting = (verdict: ChaosVerdict): boolean => verdict.status === waiting

async function playChaos(agent: string, options: ChaosOptions, out: Output): Promise<ChaosVerdict> {
  const begunAt = performance.now()
  const seed = options.seed ?? Date.now() % 1_000_000
  const { url } = await findDatabase(options, out)
  const { config, path } = await loadConfig(options.config ?? fromEnv('PAWL_CONFIG'))
  const receipts = options.receipts === undefined ? undefined : await Receipts.open(options.receipts)
  const input = options.input === undefined ? {} : readJson(options.input, '--input')
  const { startWorkers } = await import('@pawl/worker')
  const ledger = new Ledger({ url, name: 'pawl-chaos' })
  try {
    await checkSchema(ledger)
    const workers = await startWorkers({ ...process.env, PAWL_LOG_LEVEL: fromEnv('PAWL_LOG_LEVEL') ?? 'error', ...queueEnv(config).variables, DATABASE_URL: url, PAWL_CONFIG: path, PAWL_PROCESSES: String(options.processes), PAWL_WORKER_PORT: '' })
    try {
      const client = createClient({ ledger, namespace: fromEnv('PAWL_NAMESPACE') ?? 'default', actor: cliActor(), agents: config.agents })
      const run = { labels: { chaos: String(seed) } }
      const { id } = options.items === undefined ? await client.startRun(agent, input, run) : await client.startRunFromStream({ agent, input, ...run }, new ItemsFile(options.items), {})
      out.remark(`run ${id}, seed ${seed}`)
      const killed = await killWorkers({
        ledger, runId: id, seed, kills: options.kills, pidsNow: () => workers.pids, deadlineMs: options.minutes * 60_000,
        onKill: (n, pid, inFlight) => out.remark(`killed worker ${pid} (${n} of ${options.kills}), ${many(inFlight, 'call')} in flight`),
      })
      const judged = await judgeRun(ledger, id, await receipts?.since())
      return verdictOf(id, seed, killed, judged, (performance.now() - begunAt) / 1_000)
    } finally {
      await workers.stop()
    }
  } finally {
    await ledger.close()
  }
}

function verdictOf(run: string, seed: number, killed: Killed, { problems: found, ...judged }: RunVerdict, seconds: number): ChaosVerdict {
  const problems = [
    ...found,
    ...(killed.isLate ? [`run ${run} has not ended in time; it is ${killed.status}. See where it stands with: pawl run show ${run}`] : []),
    ...(killed.kills === 0 ? ['nothing was proved: no worker was killed while it was at the run. Give it more items, or slower ones.'] : []),
    ...(killed.kills > 0 && judged.takeovers === 0 ? ['nothing was proved: no item had to be taken up again.'] : []),
  ]
  return { run, status: killed.isWaiting ? waiting : killed.status, seed, kills: killed.kills, inFlight: killed.inFlight, ...judged, seconds: Math.round(seconds), ok: problems.length === 0, problems }
}

function tell(out: Output, verdict: ChaosVerdict): void {
  const unknown = 'not known (no receipts)'
  out.line(`Run ${verdict.run} (seed ${verdict.seed}): ${verdict.status}`)
  out.line(`  ${many(verdict.kills, 'worker')} killed, ${many(verdict.inFlight, 'call')} in flight at that moment, ${many(verdict.takeovers, 'takeover')} of ${many(verdict.items, 'item')}`)
  out.line(`  done twice: ${verdict.duplicates ?? unknown}   lost: ${verdict.lost ?? unknown}   violations: ${verdict.violations}   doubts: ${verdict.doubts}`)
  for (const problem of verdict.problems) out.line(`  ${colors.red(plain(problem))}`)
  if (isWaiting(verdict)) out.line(`Answer what is in doubt: pawl inbox --run ${verdict.run}`)
}
