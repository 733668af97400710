import type { Settlings } from './facts.ts'
import type { Kill } from './reaper.ts'
import type { Thinking } from './world.ts'

/** The last line of `--json`. */
export interface Report extends Partial<Thinking> {
  readonly example: string
  readonly queue: 'redis' | 'postgres'
  /** `--seed` with it makes the same choices of where to kill. */
  readonly seed: number
  readonly items: number
  readonly done: number
  readonly kills: number
  readonly inFlightAtKill: number
  readonly settled: Settlings
  readonly effects: number
  readonly duplicates: number
  readonly lost: number
  readonly resumeMs: { readonly p50: number; readonly max: number }
  readonly commits: number
  readonly redoAvoided: number
  readonly seconds: number
  readonly ok: boolean
}

export function resumeFigures(samples: readonly number[]): Report['resumeMs'] {
  const sorted = [...samples].sort((a, b) => a - b)
  return { p50: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0, max: sorted.at(-1) ?? 0 }
}

/** Actions a restart from the top would have sent again: everything committed when the last kill came, once. */
export const redoOf = (kills: readonly Kill[]): number => Math.max(0, ...kills.map((kill) => kill.committed))

/** Adds the runs of one example up. */
export function sumReports(reports: readonly Report[]): Report {
  const [first, ...rest] = reports
  if (!first) throw new Error('no run to report')
  return rest.reduce((sum, one) => ({
    ...sum,
    items: sum.items + one.items, done: sum.done + one.done, kills: sum.kills + one.kills, inFlightAtKill: sum.inFlightAtKill + one.inFlightAtKill,
    settled: { recalled: sum.settled.recalled + one.settled.recalled, verified: sum.settled.verified + one.settled.verified, asked: sum.settled.asked + one.settled.asked },
    effects: sum.effects + one.effects, duplicates: sum.duplicates + one.duplicates, lost: sum.lost + one.lost,
    resumeMs: { p50: Math.max(sum.resumeMs.p50, one.resumeMs.p50), max: Math.max(sum.resumeMs.max, one.resumeMs.max) },
    commits: sum.commits + one.commits, redoAvoided: sum.redoAvoided + one.redoAvoided, seconds: Math.round((sum.seconds + one.seconds) * 10) / 10, ok: sum.ok && one.ok,
  }), first)
}
