/**
 * A case of docs/cases.md in its literal form: the numbers of the report, not the scaled ones of `npm test`. The code is the fast form's;
 * only windows and counts differ.
 */
import type { TierRequest } from '../chaos/tiers.ts'

export interface CaseOutcome {
  readonly ok: boolean
  /** What was counted: effects, repetitions, milliseconds. */
  readonly figures: Readonly<Record<string, number | string>>
  /** A sentence for each thing that is wrong. Empty when `ok`. */
  readonly problems?: readonly string[]
}

export interface CaseServices {
  /** A database of its own for each call, empty, on a Postgres the tier started. The tier removes it. */
  freshDatabase(): Promise<string>
  readonly seed: number
  readonly say: TierRequest['say']
}

export interface LiteralCase {
  readonly id: number
  readonly title: string
  run(services: CaseServices): Promise<CaseOutcome>
}
