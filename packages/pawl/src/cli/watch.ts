/**
 * Follows a run to its end: one bar that redraws on a terminal, a line per change elsewhere, a JSON line per change for scripts.
 * Where only items are left that wait for a person it stops, with exit 3 and the exact next command.
 */
import type { PawlClient, Progress } from '@pawl/client'
import { isEndedRun, type RunStatus } from '@pawl/core'
import { Presets, SingleBar } from 'cli-progress'
import colors from 'picocolors'
import { answersTo } from './answers.ts'
import { exitOf } from './exit-codes.ts'
import type { Output } from './output.ts'
import { describeProgress, paintStatus, statusOf } from './status.ts'

export async function watchToItsEnd(client: PawlClient, runId: string, out: Output): Promise<number> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  process.on('SIGINT', interrupt)
  const show = out.isJson ? jsonLines(out) : process.stdout.isTTY ? bar() : lines(out)
  let last: Progress | undefined
  try {
    for await (const progress of client.watch(runId, { signal: stop.signal })) {
      last = progress
      show.change(progress)
    }
  } finally {
    show.end()
    process.off('SIGINT', interrupt)
  }
  if (last === undefined || stop.signal.aborted) {
    out.remark(`The run goes on. Watch it again with: pawl run watch ${runId}`)
    return exitOf.interrupted
  }
  return isEndedRun(last.status) ? sayEnd(out, runId, last) : await sayNext(client, runId, out, last)
}

interface Show {
  change(progress: Progress): void
  end(): void
}

const jsonLines = (out: Output): Show => ({ change: (progress) => out.emit(progress), end: () => undefined })

const lines = (out: Output): Show => ({
  change: (progress) => out.line(`${new Date().toISOString().slice(11, 19)} ${statusOf(progress)}: ${describeProgress(progress)}`),
  end: () => undefined,
})

function bar(): Show {
  let drawn: SingleBar | undefined
  return {
    change(progress) {
      const payload = { status: paintStatus(statusOf(progress)), words: describeProgress(progress) }
      const settled = progress.done + progress.failed
      if (drawn === undefined) {
        drawn = new SingleBar({ format: '{bar} {percentage}%  {status}  {words}', hideCursor: true, stream: process.stdout, barsize: 30, linewrap: false }, Presets.shades_classic)
        drawn.start(Math.max(1, progress.total), settled, payload)
      }
      drawn.setTotal(Math.max(1, progress.total))
      drawn.update(settled, payload)
    },
    end: () => drawn?.stop(),
  }
}

const resumable: readonly RunStatus[] = ['failed', 'completed_with_failures', 'cancelled']

function sayEnd(out: Output, runId: string, last: Progress): number {
  out.line(`Run ${runId} is ${paintStatus(last.status)}${last.status.startsWith('compensated') ? '' : `: ${describeProgress(last)}`}.`)
  if (last.failed > 0) out.line(`See why with: pawl run items ${runId} --status failed`)
  if (resumable.includes(last.status)) out.line(`Go on with:   pawl run resume ${runId} --dry-run`)
  if (last.status === 'compensated_with_residue') out.line(`See what stands with: pawl run compensate ${runId} --dry-run`)
  return last.status === 'completed' ? exitOf.ok : exitOf.failed
}

async function sayNext(client: PawlClient, runId: string, out: Output, last: Progress): Promise<number> {
  const { entries, cursor } = await client.inbox({ runId, limit: 100 })
  const next = entries.map(answersTo).find((commands) => commands.length > 0) ?? [`pawl inbox --run ${runId}`]
  out.emit({ ...last, next })
  out.line(`Run ${runId} waits for a person: ${describeProgress(last)}. Next:`)
  for (const command of next) out.line(`  ${colors.cyan(command)}`)
  const more = entries.length - 1
  if (more > 0 || cursor !== null) out.line(`and ${Math.max(more, 1)}${cursor === null ? '' : ' or more'} other${more === 1 && cursor === null ? '' : 's'}: pawl inbox --run ${runId}`)
  return exitOf.blocked
}
