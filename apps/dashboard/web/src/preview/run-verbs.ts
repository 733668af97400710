/** What a run may be told in its state. The producer has the last word; this only decides which buttons are offered. */
import type { Run } from '@pawl/client/http'
import { isEndedRun } from '@pawl/core'

export const RUN_VERBS = ['pause', 'resume', 'cancel', 'compensate'] as const
export type RunVerb = (typeof RUN_VERBS)[number]

export const verbTitle: Readonly<Record<RunVerb, string>> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel', compensate: 'Compensate' }

export function allowedVerbs({ status, paused }: Pick<Run, 'status' | 'paused'>): RunVerb[] {
  const isEnded = isEndedRun(status)
  const can: Readonly<Record<RunVerb, boolean>> = {
    pause: !isEnded && !paused,
    resume: paused || ['failed', 'completed_with_failures', 'cancelled'].includes(status),
    cancel: !isEnded && status !== 'compensating',
    compensate: !['splitting', 'compensating', 'compensated'].includes(status),
  }
  return RUN_VERBS.filter((verb) => can[verb])
}
