/**
 * A case of docs/cases.md in its literal form: the numbers of the report, not the scaled ones of `npm test`. The code is the fast form's;
 * only windows and counts differ.
 */
export interface CaseOutcome {
  readonly ok: boolean
  /** What was counted: effects, repetitions, milliseconds. */
  readonly figures: Readonly<Record<string, number | string>>
  /** A sentence for each thing that is wrong. Empty when `ok`. */
  readonly problems?: readonly string[]
}

export interface CaseServices {
  /** The URL of an empty database of its own for each call, on a Postgres of the tier's own. */
  readonly freshDatabase: () => Promise<string>
  readonly seed: number
  /** Progress, for a person. */
  readonly say: (line: string) => void
}

export interface LiteralCase {
  readonly id: number
  readonly title: string
  run(services: CaseServices): Promise<CaseOutcome>
}
