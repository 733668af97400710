import { createClient } from '@pawl/client'
import { Ledger } from '@pawl/ledger'
import { relative } from 'node:path'
import type { Command } from 'commander'
import colors from 'picocolors'
import { exitOf } from '../cli/exit-codes.ts'
import { reportFailure } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { wholeNumber } from '../cli/parse.ts'
import { cliActor, fromEnv } from '../cli/place.ts'
import { plain } from '../cli/plain.ts'
import { ServiceStack } from '../cli/service-stack.ts'
import { untilStopped } from '../cli/until-stopped.ts'
import { moduleFiles } from '../dev/module-files.ts'
import { lookNow, paint, whereabouts, type Now } from '../dev/picture.ts'
import { openScreen } from '../dev/screen.ts'
import type { Dev, RunningDev } from '../dev/start-dev.ts'
import { watchFiles } from '../dev/watch-files.ts'

interface DevOptions {
  readonly config?: string
  readonly processes: number
  readonly port: number
  readonly dashboardPort: number
  readonly reload: boolean
}

const lookEveryMs = 1_000

/** `pawl dev`: all of Pawl in this folder until Ctrl-C, with a Postgres of its own; one screen on a terminal. JSON: `Dev` when everything is up, then `{ reloaded: … }` at each change. */
export function addDev(parent: Command): void {
  addLeaf<DevOptions>(parent, {
    usage: 'dev', about: 'everything on this machine in one: Postgres, workers, producer, dashboard',
    options: (command) => void command
      .option('--config <file>', 'pawl.config.ts or .js (default: the one in this folder)')
      .option('--processes <n>', 'worker processes', wholeNumber(1, 64), 2)
      .option('--port <port>', "the producer's; a taken one is replaced by a free one", wholeNumber(0, 65_535), 3_000)
      .option('--dashboard-port <port>', "the dashboard's; likewise", wholeNumber(0, 65_535), 3_001)
      .option('--no-reload', 'go on with the agents as they were at the start'),
    async run({ options, out }) {
      const stopped = untilStopped()
      const services = new ServiceStack()
      if (fromEnv('DATABASE_URL') !== undefined) out.remark('DATABASE_URL is set and not used: dev has a Postgres of its own. For that one there are pawl worker, producer and dashboard.')
      const news = new News(out)
      try {
        const { startDev } = await import('../dev/start-dev.ts')
        const dev = await startDev({
          config: options.config ?? fromEnv('PAWL_CONFIG'), processes: options.processes, port: options.port, dashboardPort: options.dashboardPort,
          log: (line) => news.say(line), onLine: out.isJson ? undefined : (line) => news.say(logged(line)),
          onLoginLink: (url) => { if (out.isJson) process.stderr.write(`Log in with this link, once: ${url}\n`); else news.say(`Log in with this link, once: ${url}`) },
        }, services)
        out.emit(shownOf(dev))
        const show = await services.add('screen', async () => openShow(out, dev, options.processes, news), (each) => each.close())
        if (options.reload) await services.add('watch', async () => reloadOnChange(dev, out, news, show), async (each) => each.close())
        const signal = await stopped
        await show.close()
        out.line(`\n${signal}: stopping; items under way are handed back. The same signal again ends at once.`)
      } finally {
        const failures = await services.stop((name) => { if (!['session', 'screen', 'watch'].includes(name)) out.remark(`stopping ${name}`) })
        for (const failure of failures) reportFailure(failure, { json: out.isJson, verbose: false })
      }
      return exitOf.ok
    },
  })
}

/** Not where the ledger is: its address holds a password. */
const shownOf = ({ agents, queue, folder, adopted, producerUrl, dashboardUrl, loginUrl, pids }: RunningDev): Dev => ({ agents, queue, folder, adopted, producerUrl, dashboardUrl, loginUrl, pids })

/** What happens meanwhile: on the screen where there is one, else as remarks. */
class News {
  readonly log: string[] = []
  onScreen: (() => void) | undefined

  constructor(private readonly out: Output) {}

  say(line: string): void {
    this.log.push(`${new Date().toTimeString().slice(0, 8)} ${line}`)
    if (this.onScreen === undefined) this.out.remark(line)
    else this.onScreen()
  }
}

/** A line of a service's log as a person reads it; anything else as it is. */
function logged(line: string): string {
  try {
    const { name, msg } = JSON.parse(line) as { name?: unknown; msg?: unknown }
    return typeof msg === 'string' ? `${typeof name === 'string' ? `${name}: ` : ''}${msg}` : line
  } catch {
    return line
  }
}

interface Show {
  rename(agents: readonly string[]): void
  close(): Promise<void>
}

/** The screen on a terminal, with a look at the ledger every second; elsewhere the whereabouts, once. */
function openShow(out: Output, dev: RunningDev, processes: number, news: News): Show {
  let agents = dev.agents
  if (out.format !== 'text' || !process.stdout.isTTY) {
    out.line(['', `${colors.bold('Pawl is up')}  ${agents.map(plain).join(', ') || 'the config names no agent yet'}`, '', ...whereabouts(dev, processes), '',
      'In another terminal, in this folder:', `  pawl run start ${agents[0]?.split('@')[0] ?? '<agent>'} --input '{…}' --watch`, '  pawl run list · pawl inbox · pawl doctor', '', 'Ctrl-C stops everything.'].join('\n'))
    return { rename: (names) => { agents = names }, close: () => Promise.resolve() }
  }
  const ledger = new Ledger({ url: dev.databaseUrl, name: 'pawl-dev-screen', connections: 1 })
  const client = createClient({ ledger, namespace: fromEnv('PAWL_NAMESPACE') ?? 'default', actor: cliActor(), close: () => ledger.close() })
  const screen = openScreen()
  let now: Now | undefined
  const draw = (): void => { screen.draw(paint({ dev, agents, processes, now, log: news.log })) }
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    now = await lookNow(client).catch(() => undefined)
    if (isOver) return
    draw()
    timer = setTimeout(() => void look(), lookEveryMs)
  }
  news.onScreen = draw
  draw()
  void look()
  return {
    rename(names) {
      agents = names
      draw()
    },
    async close() {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      news.onScreen = undefined
      screen.end()
      await client.close()
    },
  }
}

function reloadOnChange(dev: RunningDev, out: Output, news: News, show: Show): { close(): void } {
  let turn: Promise<void> = Promise.resolve()
  let isOver = false
  const follow = (): void => { files.follow(moduleFiles(dev.configPath)) }
  const reload = async (changed: readonly string[]): Promise<void> => {
    if (isOver) return
    const names = changed.map((file) => relative(process.cwd(), file)).join(', ')
    const begunAt = performance.now()
    news.say(`${names} changed: loading it`)
    const loaded = await dev.reload().catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }))
    if (isOver) return
    if ('error' in loaded) news.say(`it does not load, so what was there goes on: ${loaded.error.split('\n').find((line) => line.trim() !== '') ?? ''}`)
    else {
      show.rename(loaded.agents)
      news.say(`loaded in ${((performance.now() - begunAt) / 1_000).toFixed(1)} s: ${loaded.agents.join(', ')}`)
    }
    out.emit({ reloaded: changed, ...loaded })
    follow()
  }
  const files = watchFiles((changed) => { turn = turn.then(() => reload(changed)) }, dev.madeOf)
  follow()
  return { close: () => { isOver = true; files.close() } }
}
