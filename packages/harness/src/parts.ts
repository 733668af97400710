import type { Observe } from '@pawl/core'
import type { Ledger, Writer } from '@pawl/ledger'
import type { Failpoint } from './failpoint.ts'
import type { TurnPlace } from './loop/options.ts'
import type { TurnDelta } from './loop/stream.ts'
import type { Timings } from './timings.ts'
import type { Trust } from './trust.ts'

/** What every step of the pipe works with; made once per process by `harness.ts`. */
export interface Parts {
  readonly ledger: Ledger
  readonly writer: Writer
  readonly timings: Timings
  readonly failpoint: Failpoint
  readonly log: Log
  /** Counts what happened, for whoever scrapes it. */
  readonly observe: Observe
  /** Ends after a failover or restore that may have lost acknowledged intents: then only reads are sent. */
  readonly trust: Trust
  /** Told of running turns, piece by piece. With it models are streamed. */
  readonly onTurnDelta?: ((delta: TurnDelta, place: TurnPlace) => void) | undefined
}

/** One line with its place: run, item, action, attempt, epoch. Never args or results. */
export type Log = (level: 'debug' | 'info' | 'warn' | 'error', line: string, place: Readonly<Record<string, unknown>>) => void
