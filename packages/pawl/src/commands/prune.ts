import { durationMs, PawlError } from '@pawl/core'
import { checkPrune, checkSchema, GIVE_UPS, inQuestion, listOldRuns, pruneRun, type GiveUp, type Ledger, type OldRun, type PruneHold, type PruneRequest } from '@pawl/ledger'
import { Option, type Command } from 'commander'
import { ask } from '../cli/ask.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addDatabaseOptions, cliActor, fromEnv, openLedger, type DatabaseOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'

interface PruneOptions extends DatabaseOptions {
  readonly olderThan?: string
  readonly agent?: string
  readonly namespace?: string
  readonly giveUp?: readonly GiveUp[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export interface PruneReport {
  readonly dryRun: boolean
  readonly olderThanMs: number
  /** What went, or with `--dry-run` would go; the first thousand by id. */
  readonly pruned: { readonly runs: number; readonly items: number; readonly ids: readonly string[] }
  /** What stays although it is old enough, by its first reason. */
  readonly kept: Readonly<Partial<Record<PruneHold, number>>>
}

const shown = 20
const listed = 1_000

/** `pawl prune --older-than <age>`: the rows of old runs that nothing needs any more. JSON: `PruneReport`. */
export function addPrune(parent: Command): void {
  addLeaf<PruneOptions>(parent, {
    usage: 'prune', about: 'remove the rows of runs that ended long ago and that nothing needs any more',
    options: (command) => addDatabaseOptions(command
      .option('--older-than <age>', 'how long ago they ended: 30d, 12h')
      .option('--agent <name>', 'only of this agent')
      .option('--namespace <name>', 'whose runs (default: PAWL_NAMESPACE, or "default")')
      .addOption(new Option('--give-up <what...>', 'also runs that could still be undone, or resumed, or whose residue only the ledger knows').choices(GIVE_UPS))
      .option('--dry-run', 'change nothing; say what would go and what would stay, and why')
      .option('--yes', 'do not ask back on a terminal')),
    async run({ options, out }) {
      if (options.olderThan === undefined) throw new UsageError('Say how long ago the runs must have ended: pawl prune --older-than 30d --dry-run')
      const request: PruneRequest = {
        namespace: options.namespace ?? fromEnv('PAWL_NAMESPACE') ?? 'default', ageMs: durationMs(options.olderThan, '--older-than'), giveUp: options.giveUp ?? [], agent: options.agent,
      }
      const ledger = await openLedger(options, out)
      try {
        await checkSchema(ledger)
        await checkPrune(ledger, request)
        const report = await lookAt(ledger, request)
        tell(out, report, options.olderThan)
        if (options.dryRun || report.pruned.runs === 0) {
          out.emit({ ...report, dryRun: options.dryRun ?? false })
          return exitOf.ok
        }
        if (!options.yes && !(await ask(out, `Remove ${many(report.pruned.runs, 'run')} for good?`))) return exitOf.failed
        const done = await prune(ledger, request, report.pruned.runs, out)
        out.emit(done)
        out.line(`${many(done.pruned.runs, 'run')} with ${many(done.pruned.items, 'item')} ${done.pruned.runs === 1 ? 'is' : 'are'} gone. A start under the key of one still finds that it was done.`)
        return exitOf.ok
      } finally {
        await ledger.close()
      }
    },
  })
}

interface Counter {
  add(run: OldRun, isPruned: boolean): void
  report(dryRun: boolean): PruneReport
}

function counter(olderThanMs: number): Counter {
  const ids: string[] = []
  const kept: Partial<Record<PruneHold, number>> = {}
  let runs = 0
  let items = 0
  return {
    add(run, isPruned) {
      const [hold] = run.holds
      if (isPruned) {
        runs += 1
        items += run.items
        if (ids.length < listed) ids.push(run.id)
      } else if (hold !== undefined) kept[hold] = (kept[hold] ?? 0) + 1
    },
    report: (dryRun) => ({ dryRun, olderThanMs, pruned: { runs, items, ids }, kept }),
  }
}

async function lookAt(ledger: Ledger, request: PruneRequest): Promise<PruneReport> {
  const count = counter(request.ageMs)
  for await (const run of listOldRuns(ledger, request)) count.add(run, run.holds.length === 0)
  return count.report(true)
}

/** What became of it since it was looked at is decided anew, under each run's lock. */
async function prune(ledger: Ledger, request: PruneRequest, todo: number, out: Output): Promise<PruneReport> {
  const count = counter(request.ageMs)
  const bar = out.bar('{bar} {percentage}%  {value}/{total} runs')
  bar.start(todo)
  try {
    for await (const run of listOldRuns(ledger, request)) {
      if (run.holds.length > 0) {
        count.add(run, false)
        continue
      }
      const { outcome, holds } = await pruneRun(ledger, run.id, request, cliActor())
      if (outcome === 'untrusted') throw inQuestion(ledger)
      if (outcome === 'missing' || outcome === 'young') continue
      count.add({ ...run, holds }, outcome === 'pruned')
      bar.step()
    }
  } catch (error) {
    bar.stop()
    const { pruned } = count.report(false)
    if (error instanceof PawlError) throw new PawlError(error.code, `${error.message} Before that ${many(pruned.runs, 'run')} went; the same command goes on with the rest.`, error.next, error.details, { cause: error })
    throw error
  } finally {
    bar.stop()
  }
  return count.report(false)
}

const reasons: Readonly<Record<PruneHold, string>> = {
  open: 'not at rest: an item of it is live', unsettled: 'nobody knows yet what became of a call', person: 'an approval or question is open',
  key: 'a receiver still remembers a key of its', undo: 'it can still be compensated (--give-up undo)',
  resume: 'it can still be resumed (--give-up resume)', residue: 'only the ledger knows what stands of it (--give-up residue)',
}

function tell(out: Output, { pruned, kept }: PruneReport, age: string): void {
  out.line(pruned.runs === 0
    ? `Nothing to remove: no run that ended more than ${age} ago is free of everything that still needs it.`
    : `${many(pruned.runs, 'run')} with ${many(pruned.items, 'item')} ended more than ${age} ago and ${pruned.runs === 1 ? 'is' : 'are'} needed by nothing:`)
  for (const id of pruned.ids.slice(0, shown)) out.line(`  ${id}`)
  if (pruned.runs > shown) out.line(`  and ${(pruned.runs - shown).toLocaleString('en')} more${pruned.runs > listed ? '' : ' (--json lists them)'}`)
  for (const [hold, n] of Object.entries(kept) as [PruneHold, number][]) out.line(`${many(n, 'run')} kept: ${reasons[hold]}`)
}
