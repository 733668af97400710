/**
 * One verb for many runs: each has a result of its own, and one that is refused stops no other. The verbs are idempotent, so whoever is cut off
 * gives the same command again. What cannot be reached is no result: it ends the command, which first says what was done by then.
 */
import { PawlError } from '@pawl/core'
import colors from 'picocolors'
import { exitOf } from './exit-codes.ts'
import type { Output } from './output.ts'
import { cut, many, plain } from './plain.ts'
import { paintStatus } from './status.ts'

export interface BulkEntry {
  readonly runId: string
  readonly outcome: 'done' | 'refused'
  /** Of the run, where the answer said it. */
  readonly status: string | null
  /** What it did or would do; or why not. */
  readonly detail: string
}

export interface BulkReport {
  readonly verb: string
  readonly dryRun: boolean
  readonly total: number
  readonly done: number
  readonly refused: number
  /** Nothing is known of these, and they have no entry: the command was cut off before, or the answer left them out. */
  readonly open: number
  readonly entries: readonly BulkEntry[]
}

export type Act = (runId: string) => Promise<Omit<BulkEntry, 'runId'>>

const atOnce = 4
const shown = 50

export async function actOnMany(out: Output, verb: string, ids: readonly string[], options: { readonly dryRun: boolean }, act: Act): Promise<number> {
  const entries = new Map<string, BulkEntry>()
  const bar = out.bar(`${verb} {bar} {percentage}%  {value}/{total} runs`)
  bar.start(ids.length)
  const queue = ids.values()
  let end: unknown
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const runId of queue) {
      if (end !== undefined) return
      try {
        entries.set(runId, { runId, ...(await act(runId)) })
      } catch (error) {
        if (!(error instanceof PawlError) || error.next === 'retry' || error.next === 'crash' || error.code.startsWith('UNAUTH')) {
          end ??= error
          return
        }
        entries.set(runId, { runId, outcome: 'refused', status: null, detail: error.message })
      }
      bar.step()
    }
  }))
  bar.stop()
  return reportBulk(out, verb, ids, entries, { ...options, end })
}

/** Says what became of each, and gives back the exit code. `end` is what ended the work too soon: it is thrown after what is known was said. */
export function reportBulk(out: Output, verb: string, ids: readonly string[], entries: ReadonlyMap<string, BulkEntry>, { dryRun, end }: { readonly dryRun: boolean; readonly end: unknown }): number {
  const report = reportOf(verb, dryRun, ids, entries)
  if (end === undefined || entries.size > 0) {
    out.emit(report)
    tell(out, report)
  }
  if (end !== undefined) throw cutOff(end, report)
  return report.done === report.total ? exitOf.ok : exitOf.failed
}

/** In the order in which the runs were given. */
function reportOf(verb: string, dryRun: boolean, ids: readonly string[], entries: ReadonlyMap<string, BulkEntry>): BulkReport {
  const known = ids.flatMap((id) => entries.get(id) ?? [])
  const done = known.filter((entry) => entry.outcome === 'done').length
  return { verb, dryRun, total: ids.length, done, refused: known.length - done, open: ids.length - known.length, entries: known }
}

function cutOff(error: unknown, { done, total, verb }: BulkReport): unknown {
  if (!(error instanceof PawlError)) return error
  return new PawlError(error.code, `${error.message} ${done} of ${many(total, 'run')} had their ${verb} by then; the same command goes on with the rest.`, error.next, error.details, { cause: error })
}

function tell(out: Output, { verb, dryRun, total, done, refused, open, entries }: BulkReport): void {
  if (total === 0) {
    out.line('No runs were given, so nothing was done.')
    return
  }
  const listed = total <= shown ? entries : entries.filter((entry) => entry.outcome === 'refused').slice(0, shown)
  for (const entry of listed) {
    const status = entry.outcome === 'refused' ? colors.red('refused') : entry.status === null ? 'done' : paintStatus(entry.status)
    out.line(`${plain(entry.runId)}  ${status}${entry.detail === '' ? '' : `  ${cut(entry.detail, 200)}`}`)
  }
  out.line(`${dryRun ? `Looked at, nothing was changed: ${verb} of` : `${verb}:`} ${many(total, 'run')}, ${done} ${dryRun ? 'would be done' : 'done'}${refused === 0 ? '' : `, ${colors.red(`${refused} refused`)}`}${open === 0 ? '' : `, ${colors.red(`of ${open} nothing is known`)}`}.`)
}
