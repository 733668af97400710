/** Follows a run by asking: one definition of "nothing more will happen by itself" for both clients. */
import { isEndedRun, waitMs } from '@pawl/core'
import type { Progress } from './contract.ts'
import type { Run } from './wire.ts'

const defaultEveryMs = 500

export const progressOf = ({ status, paused, tally, open, blockedReasons }: Run): Progress => ({
  status, paused, total: tally.total, pending: tally.pending, inProgress: tally.inProgress, done: tally.done, failed: tally.failed, blocked: open.blocked, blockedReasons,
})

/** Nothing is at work and nothing due: what is left waits for a person. An item that waits for another's key moves when that one does. */
function needsPerson({ open, blockedReasons }: Run): boolean {
  return open.pending + open.inProgress === 0 && open.blocked > (blockedReasons.key ?? 0)
}

export async function* watchRun(read: () => Promise<Run>, options: { everyMs?: number | undefined; signal?: AbortSignal | undefined } = {}): AsyncGenerator<Progress, void, undefined> {
  let shown = ''
  while (!options.signal?.aborted) {
    const run = await read()
    const progress = progressOf(run)
    const text = JSON.stringify(progress)
    if (text !== shown) yield progress
    shown = text
    if (isEndedRun(run.status) || needsPerson(run)) return
    await waitMs(options.everyMs ?? defaultEveryMs, options.signal)
  }
}
