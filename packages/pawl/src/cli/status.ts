/** Statuses in their colours, and a run's counts in words. */
import type { Progress, Run } from '@pawl/client'
import colors from 'picocolors'

const shades: Readonly<Record<string, (text: string) => string>> = {
  completed: colors.green, done: colors.green, committed: colors.green, ok: colors.green,
  failed: colors.red, fail: colors.red, in_doubt: colors.red,
  completed_with_failures: colors.yellow, compensated_with_residue: colors.yellow, blocked: colors.yellow, warn: colors.yellow, started: colors.yellow,
  running: colors.cyan, splitting: colors.cyan, finalizing: colors.cyan, compensating: colors.cyan, in_progress: colors.cyan,
}

export const paintStatus = (text: string): string => (shades[text.split(' ')[0] ?? ''] ?? ((same: string) => same))(text)

export const statusOf = (run: Pick<Run, 'status' | 'paused'>): string => (run.paused ? `${run.status} (paused)` : run.status)

/** `45/60 done, 3 failed, 2 blocked (in_doubt 2), 10 in progress`. */
export function describeProgress(progress: Omit<Progress, 'status' | 'paused'>): string {
  const reasons = Object.entries(progress.blockedReasons).map(([reason, n]) => `${reason} ${n}`).join(', ')
  return [
    `${progress.done}/${progress.total} done`,
    ...(progress.failed > 0 ? [`${progress.failed} failed`] : []),
    ...(progress.blocked > 0 ? [`${progress.blocked} blocked (${reasons})`] : []),
    ...(progress.inProgress > 0 ? [`${progress.inProgress} in progress`] : []),
  ].join(', ')
}
