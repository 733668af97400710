/** What a case found: figures for the report, and a sentence for each value that is not the right one. The fast and the literal form share it. */
import { isDeepStrictEqual } from 'node:util'
import type { CaseOutcome } from './literal-case.ts'

export class Findings {
  readonly #figures: Record<string, number | string> = {}
  readonly #problems: string[] = []

  figure(name: string, value: number | string): void {
    this.#figures[name] = value
  }

  /** The right value, and nothing else. */
  is(what: string, found: unknown, right: unknown): void {
    if (!isDeepStrictEqual(found, right)) this.#problems.push(`${what}: ${show(found)}, right is ${show(right)}`)
  }

  atMost(what: string, found: number, most: number): void {
    if (!(found <= most)) this.#problems.push(`${what}: ${found}, right is at most ${most}`)
  }

  atLeast(what: string, found: number, least: number): void {
    if (!(found >= least)) this.#problems.push(`${what}: ${found}, right is at least ${least}`)
  }

  outcome(): CaseOutcome {
    return { ok: this.#problems.length === 0, figures: this.#figures, problems: this.#problems }
  }
}

const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing'
