/** What is on the screen of `pawl dev`: where things are, what runs, what waits for whoever looks at it, and what happened last. */
import type { PawlClient, Run } from '@pawl/client'
import colors from 'picocolors'
import { cut, many, plain } from '../cli/plain.ts'
import { describeProgress, paintStatus, statusOf } from '../cli/status.ts'
import type { Dev } from './start-dev.ts'

export interface Now {
  readonly runs: readonly Run[]
  readonly waiting: number
  /** The inbox holds more than was asked for. */
  readonly isMore: boolean
}

const runsShown = 8
const inboxLimit = 100

export async function lookNow(client: PawlClient): Promise<Now> {
  const [runs, inbox] = await Promise.all([client.listRuns({ limit: runsShown }), client.inbox({ limit: inboxLimit })])
  return { runs: runs.entries, waiting: inbox.entries.length, isMore: inbox.cursor !== null }
}

export interface Picture {
  readonly dev: Dev
  readonly agents: readonly string[]
  readonly processes: number
  /** Undefined: not looked yet, or the ledger does not answer. */
  readonly now: Now | undefined
  /** Newest last. */
  readonly log: readonly string[]
}

const link = (text: string): string => colors.cyan(text)
const linesOfLog = 6

export function paint({ dev, agents, processes, now, log }: Picture): string[] {
  return [
    `${colors.bold(colors.green('Pawl is up'))}  ${agents.map(plain).join(', ') || colors.yellow('the config names no agent yet')}`,
    '',
    ...whereabouts(dev, processes),
    '',
    ...runLines(now, agents),
    '',
    now === undefined || now.waiting === 0 ? colors.dim('Nothing waits for you.') : colors.yellow(`${now.waiting}${now.isMore ? '+' : ''} wait${now.waiting === 1 ? 's' : ''} for you: the dashboard's inbox, or  pawl inbox`),
    '',
    ...(log.length === 0 ? [] : [...log.slice(-linesOfLog).map((line) => colors.dim(plain(line))), '']),
    colors.dim('Saving the config or an agent loads it anew. Ctrl-C stops everything.'),
  ]
}

export function whereabouts(dev: Dev, processes: number): string[] {
  const workers = dev.pids.length === processes ? many(processes, 'process', 'processes') : colors.yellow(`${dev.pids.length} of ${processes} processes so far`)
  return [
    // A line of its own, whole: a link that is cut leads nowhere.
    ...(dev.loginUrl === undefined ? [`  dashboard  ${link(dev.dashboardUrl)}`] : ['  dashboard  open this link, it logs in once:', `  ${link(dev.loginUrl)}`]),
    `  producer   ${link(dev.producerUrl)}  API at ${link(`${dev.producerUrl}/docs`)}`,
    `  workers    ${workers}`,
    `  ledger     Postgres in ${dev.folder}${dev.adopted ? ', taken over from a dev that was killed: its runs go on' : ''}`,
    `  queue      ${dev.queue === 'redis' ? 'Redis' : 'in the same Postgres (REDIS_URL would use Redis)'}`,
  ]
}

const barSize = 8

function runLines(now: Now | undefined, agents: readonly string[]): string[] {
  if (now === undefined) return [colors.dim('Looking at the ledger …')]
  if (now.runs.length === 0) return ['No run yet. In another terminal, in this folder:', `  ${link(`pawl run start ${agents[0]?.split('@')[0] ?? '<agent>'} --input '{…}' --watch`)}`]
  const width = Math.min(14, Math.max(...now.runs.map((run) => run.agent.length)))
  return [colors.bold('Runs, newest first'), ...now.runs.map((run) => {
    const { tally, open, blockedReasons } = run
    const part = tally.total === 0 ? 0 : (tally.done + tally.failed) / tally.total
    const bar = `${'█'.repeat(Math.floor(part * barSize))}${'░'.repeat(barSize - Math.floor(part * barSize))}`
    return `  ${run.id}  ${cut(run.agent, width).padEnd(width)} ${bar} ${paintStatus(statusOf(run))}  ${describeProgress({ ...tally, blocked: open.blocked, blockedReasons })}`
  })]
}
