/** What a verb would do, in words. */
import type { Preview } from '@pawl/client'
import colors from 'picocolors'
import type { Output } from './output.ts'
import { cut, many, plain } from './plain.ts'
import { paintStatus } from './status.ts'

const shown = 10

export function showPreview(out: Output, preview: Preview): void {
  const { verb, items } = preview
  out.line(preview.isAllowed
    ? `${colors.bold(verb)} of run ${preview.runId} (${paintStatus(preview.status)}) would do this; nothing was changed:`
    : `${colors.bold(verb)} would be refused: run ${preview.runId} is ${paintStatus(preview.status)}.`)
  if (!preview.isAllowed) return
  if (items.again > 0) out.line(`  send ${many(items.again, 'item')} round again`)
  if (items.stopped > 0) out.line(`  stop ${many(items.stopped, 'item')}`)
  out.line(`  leave ${many(items.kept, 'finished item')} as ${items.kept === 1 ? 'it is' : 'they are'}`)
  if (preview.skipped > 0) out.line(`  use the results of ${many(preview.skipped, 'committed call')} and send nothing for ${preview.skipped === 1 ? 'it' : 'them'}`)
  list(out, 'call again', preview, 'calledAgain')
  list(out, 'verify', preview, 'verified')
  list(out, 'ask a person about', preview, 'asked')
  list(out, 'undo, in this order', preview, 'undone')
  list(out, 'leave standing, since nothing can take it back', preview, 'residue')
}

function list(out: Output, what: string, preview: Preview, name: keyof Preview['counts']): void {
  const [calls, n] = [preview[name], preview.counts[name]]
  if (n === 0) return
  out.line(`  ${what}: ${many(n, 'call')}`)
  for (const call of calls.slice(0, shown)) out.line(`    action ${call.action} of item ${call.itemSeq}, ${cut(call.tool, 40)} ${colors.dim(cut(call.key, 40))}: ${plain(call.why)}`)
  const more = n - Math.min(calls.length, shown)
  if (more > 0) out.line(`    and ${more.toLocaleString('en')} more (--json shows ${n > calls.length ? `the first ${calls.length.toLocaleString('en')}` : 'all'})`)
}

/** One line of it, for a list of runs. */
export function previewInShort({ isAllowed, verb, status, items, skipped, counts }: Preview): string {
  if (!isAllowed) return `${verb} would be refused: it is ${status}`
  const parts: readonly (readonly [number, string])[] = [
    [items.again, 'items again'], [items.stopped, 'items stopped'], [skipped, 'calls skipped'], [counts.calledAgain, 'called again'],
    [counts.verified, 'verified'], [counts.asked, 'asked'], [counts.undone, 'undone'], [counts.residue, 'left standing'],
  ]
  return parts.filter(([n]) => n > 0).map(([n, what]) => `${n.toLocaleString('en')} ${what}`).join(', ') || 'nothing to do'
}
