/** `npm run demo [-- --example NAME] [--json]`: a real run, killed again and again, and the proof that nothing was lost or done twice. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openDesk, type Desk } from './desk.ts'
import { examples } from './examples.ts'
import { runWorld } from './run-world.ts'
import { sumReports, type Report } from './report.ts'
import { Screen } from './screen.ts'
import { seeded } from './seeded.ts'
import { Stage } from './stage.ts'

async function main(): Promise<number> {
  const { values } = parseArgs({ options: {
    example: { type: 'string', default: 'migration' }, json: { type: 'boolean', default: false }, verbose: { type: 'boolean', default: false }, small: { type: 'boolean', default: false }, 'by-hand': { type: 'boolean', default: false }, folder: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean', default: false },
  } })
  if (values.help) {
    process.stdout.write(`pawl demo [--example ${Object.keys(examples).join('|')}] [--small] [--by-hand] [--json] [--verbose] [--seed N] [--folder DIR]\n`)
    return 0
  }
  const example = examples[values.example]
  if (!example) {
    process.stderr.write(`There is no example "${values.example}". Try one of: ${Object.keys(examples).join(', ')}.\n`)
    return 2
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) {
    process.stderr.write('--seed is a whole number from 0, as a demo prints it.\n')
    return 2
  }
  const screen = new Screen({ json: values.json, verbose: values.verbose })
  const folder = values.folder === undefined ? defaultFolder(example.name) : resolve(values.folder)
  screen.say(`${example.about}`)
  screen.say(`where it is killed is chosen by seed ${seed} (--seed ${seed} chooses the same)`)
  const reports: Report[] = []
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(new Error(`${signal}: stopped before the end; nothing was proved`)))
  for (const [i, openWorld] of example.worlds.entries()) {
    const random = seeded(seed + i)
    const stage = await Stage.open(join(folder, String(i + 1)), screen, interrupted.signal)
    try {
      screen.say(stage.queue.backend === 'redis' ? 'queue: Redis, as REDIS_URL is set; ledger: an embedded Postgres' : 'ledger and queue: an embedded Postgres (set REDIS_URL to use Redis for the queue)')
      const world = await openWorld({ folder: join(folder, String(i + 1)), databaseUrl: stage.databaseUrl, say: (line) => screen.say(line), isSmall: values.small, isByHand: values['by-hand'], random })
      if (values['by-hand'] && world.approve === undefined) screen.say(`nothing in the example "${example.name}" waits for a yes; "research" has such calls`)
      let desk: Desk | undefined
      try {
        if (values['by-hand']) desk = await openDesk({ ...process.env, ...world.env, ...stage.env(), PAWL_CONFIG: world.configPath }, screen)
        screen.begin(`${example.name}: ${world.workers.processes} worker processes, ${world.kills.workers + (world.kills.everything ? 1 : 0) + (world.failpoints?.length ?? 0)} kills to come`)
        reports.push(await runWorld(stage, example.name, world, { seed, random, desk }))
      } finally {
        screen.end()
        await desk?.close()
        await world.close()
      }
    } finally {
      await stage.close()
    }
  }
  const report = sumReports(reports)
  if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  else process.stdout.write(summaryOf(report, relative(process.cwd(), join(folder, '1', 'postgres'))))
  return report.ok ? 0 : 1
}

/** Beside the working folder's other state, unless it cannot be written. */
function defaultFolder(name: string): string {
  const root = existsSync('package.json') ? resolve('.pawl') : resolve(process.env['PAWL_DATA_DIR'] ?? '.pawl')
  return join(root, `demo-${name}`)
}

function summaryOf(report: Report, postgres: string): string {
  const lines = [
    `${report.done} of ${report.items} items done in ${report.seconds} s on ${report.queue}, killed ${report.kills} times with ${report.inFlightAtKill} calls in flight`,
    `settled: ${report.settled.recalled} called again under their key, ${report.settled.verified} verified, ${report.settled.asked} asked of a person`,
    ...(report.turns === undefined ? [] : [`${report.turns} turns recorded, ${report.modelCalls} model calls, ${report.interruptedTurns} of them interrupted before their record; decisions asked for again: ${report.repeatedDecisions}`]),
    `effects ${report.effects}, duplicates ${report.duplicates}, lost ${report.lost}${report.commits > 0 ? `, commits ${report.commits}` : ''}`,
    `resumed after a kill in ${report.resumeMs.p50} ms (median), ${report.resumeMs.max} ms at most; a restart from the top would have sent ${report.redoAvoided} actions again`,
    report.ok ? 'proved: nothing lost, nothing done twice' : 'NOT PROVED',
    `look closer: npx pawl audit --embedded ${postgres} (or: run list, run items, run actions)`,
  ]
  return `\n${lines.join('\n')}\n`
}

main().then((code) => process.exit(code), (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
