import type { Ledger, Writer } from '@pawl/ledger'
import type { Failpoint } from './failpoint.ts'
import type { Timings } from './timings.ts'

/** What every step of the pipe works with; made once per process by `harness.ts`. */
export interface Parts {
  readonly ledger: Ledger
  readonly writer: Writer
  readonly timings: Timings
  readonly failpoint: Failpoint
  readonly log: Log
  /** False after a failover or restore that may have lost acknowledged intents: only reads are sent. */
  isTrusted(): boolean
  /** What every statement that allows a send answers: another timeline than the ledger's ends the trust. */
  seeTimeline(timeline: string): void
}

/** One line with its place: run, item, action, attempt, epoch. Never args or results. */
export type Log = (level: 'debug' | 'info' | 'warn' | 'error', line: string, place: Readonly<Record<string, unknown>>) => void
