/** How much of a value is told, richest first. Each step is tried only when the one before it leaves no room for the last turn. */
export interface Detail {
  /** Characters of arguments and of result in the one line of a digested action. 0: key, tool and status alone. */
  readonly line: number
  /** Characters of a result, and of a call's input, in a verbatim turn. */
  readonly verbatim: number
  /** Characters of the run's input, and of the item's payload. */
  readonly task: number
  /** Characters of a question or an answer, of a model's own words, and of a failure's reason. */
  readonly words: number
}

export function detailsFor(tokens: number): readonly Detail[] {
  const chars = Math.max(0, tokens) * 4
  return [
    { line: 600, verbatim: Math.max(2_000, Math.floor(chars / 4)), task: Math.max(2_000, Math.floor(chars / 4)), words: Math.max(2_000, Math.floor(chars / 8)) },
    { line: 200, verbatim: Math.max(1_000, Math.floor(chars / 12)), task: Math.max(1_000, Math.floor(chars / 8)), words: 1_000 },
    { line: 60, verbatim: 600, task: Math.max(600, Math.floor(chars / 16)), words: 300 },
    { line: 0, verbatim: 120, task: 200, words: 80 },
  ]
}
