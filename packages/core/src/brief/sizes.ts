/**
 * What each part of a brief weighs at each level of detail, summed up once, so that any shape's size is a subtraction: a long item is briefed at every turn.
 * Sums of parts are never less than the whole (an estimate of two texts joined is not above the sum of both), so what fits here fits.
 */
import { detailsFor, type Detail } from './detail.ts'
import type { BriefFacts, BriefMessage } from './facts.ts'
import { headOf, linesOf, stateOf, systemOf, type Told } from './head-and-state.ts'
import { turnMessages, type Settled } from './turn-messages.ts'

/** Where the verbatim part begins (turns before it are digested), and how much is told. */
export interface Shape {
  readonly from: number
  readonly level: number
}

interface Level {
  readonly detail: Detail
  /** System, head without lines, state. */
  readonly fixed: number
  /** At `n`: lines of the actions and questions that belong to the first n turns or to none. */
  readonly lines: readonly number[]
  /** At `n`: the first n turns, verbatim. */
  readonly turns: readonly number[]
}

export class Sizes {
  readonly #levels = new Map<number, Level>()
  readonly #details: readonly Detail[]
  readonly #settled: Settled
  /** The turn (by place) that first calls a key. What code did has none. */
  readonly #calledIn = new Map<string, number>()

  constructor(private readonly facts: BriefFacts, tokens: number, private readonly estimate: (text: string) => number) {
    this.#details = detailsFor(tokens)
    this.#settled = { actions: new Map(facts.actions.map((action) => [action.key, action])), questions: new Map(facts.questions.map((question) => [question.key, question])) }
    facts.turns.forEach((turn, place) => {
      for (const { key, refusal } of turn.calls) if (key !== null && refusal === undefined && !this.#calledIn.has(key)) this.#calledIn.set(key, place)
    })
  }

  get leastLevel(): number {
    return this.#details.length - 1
  }

  /** Tokens of the brief as it was after `upTo` turns. */
  of({ from, level }: Shape, upTo: number): number {
    const { fixed, lines, turns } = this.#level(level)
    return fixed + at(lines, from) + at(turns, upTo) - at(turns, from)
  }

  /** Tokens of what digested turns did; what code did is not among it. */
  digest({ from, level }: Shape): number {
    const { lines } = this.#level(level)
    return at(lines, from) - at(lines, 0)
  }

  told(from: number): Told {
    const isTold = ({ key }: { key: string }): boolean => (this.#calledIn.get(key) ?? -1) < from
    return { actions: this.facts.actions.filter(isTold), questions: this.facts.questions.filter(isTold), turnsDigested: this.facts.turns[from - 1]?.n ?? 0 }
  }

  turn(place: number, level: number): BriefMessage[] {
    const turn = this.facts.turns[place]
    return turn === undefined ? [] : turnMessages(turn, this.#settled, this.#level(level).detail)
  }

  detail(level: number): Detail {
    return this.#level(level).detail
  }

  #level(level: number): Level {
    const known = this.#levels.get(level)
    if (known) return known
    const detail = this.#details[level]
    if (detail === undefined) throw new RangeError(`A brief has no level of detail ${level}.`)
    const { facts, estimate } = this
    const weigh = (text: string): number => estimate(JSON.stringify(text))
    const lines = Array.from({ length: facts.turns.length + 1 }, () => 0)
    for (const each of [...facts.actions, ...facts.questions]) {
      const first = (this.#calledIn.get(each.key) ?? -1) + 1
      lines[first] = at(lines, first) + linesOf('question' in each ? { actions: [], questions: [each] } : { actions: [each], questions: [] }, detail).reduce((sum, line) => sum + weigh(`${line}\n`), 0)
    }
    const turns = [0, ...facts.turns.map((turn) => turnMessages(turn, this.#settled, detail).reduce((sum, message) => sum + estimate(JSON.stringify(message)), 0))]
    const head = { role: 'user', content: headOf(facts, { actions: [], questions: [], turnsDigested: facts.turns.at(-1)?.n ?? 1 }, detail) }
    const made: Level = {
      detail,
      fixed: estimate(systemOf(facts)) + estimate(JSON.stringify(head)) + estimate(JSON.stringify({ role: 'user', content: stateOf(facts, detail) })),
      lines: summed(lines), turns: summed(turns),
    }
    this.#levels.set(level, made)
    return made
  }
}

const at = (numbers: readonly number[], place: number): number => numbers[place] ?? 0

function summed(numbers: readonly number[]): number[] {
  let sum = 0
  return numbers.map((n) => (sum += n))
}
