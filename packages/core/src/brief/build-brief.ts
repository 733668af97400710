/**
 * The context of an item's next turn, from durable facts: it starts an item, resumes it and compacts it, with the same code. Pure and deterministic.
 *
 * Early turns are told by one line per action, late ones word for word. Which is which depends on the facts alone: the turns are gone through in order as
 * they came, and whenever the next does not fit, the oldest ones are digested until a part of the budget is free again. So a brief grows by appending for
 * several turns and a provider's cache of its beginning holds; cutting one turn off at each step would rewrite the beginning every time.
 *
 * Never left out: the key of any action of the item. If even the shortest lines do not fit, the brief says so (`isOver`) and holds them all the same.
 */
import { estimateTokens } from './estimate.ts'
import type { Brief, BriefBudget, BriefFacts, BriefMessage } from './facts.ts'
import { headOf, stateOf, systemOf } from './head-and-state.ts'
import { Sizes, type Shape } from './sizes.ts'

/** Of the budget, after turns were digested; the rest fills up with later turns. */
const afterDigest = 0.6
/** Of the budget, for lines of digested actions; past that they get shorter. */
const mostDigest = 0.4

export function buildBrief(facts: BriefFacts, budget: BriefBudget): Brief {
  const sizes = new Sizes(facts, budget.tokens, budget.estimate ?? estimateTokens)
  let shape: Shape = { from: 0, level: 0 }
  for (let upTo = 0; upTo <= facts.turns.length; upTo++) {
    if (sizes.of(shape, upTo) > budget.tokens) shape = chooseShape(sizes, shape, upTo, budget.tokens)
  }
  const detail = sizes.detail(shape.level)
  const messages = joinUserMessages([
    { role: 'user', content: headOf(facts, sizes.told(shape.from), detail) },
    ...facts.turns.slice(shape.from).flatMap((_, i) => sizes.turn(shape.from + i, shape.level)),
    { role: 'user', content: stateOf(facts, detail) },
  ])
  const system = systemOf(facts)
  const tokens = briefTokens({ system, messages }, budget.estimate)
  return { system, messages, tokens, isOver: tokens > budget.tokens, turnsDigested: shape.from }
}

/** Each message counts with all the marks of its JSON, which is more than providers count. */
export function briefTokens(brief: Pick<Brief, 'system' | 'messages'>, estimate: (text: string) => number = estimateTokens): number {
  return estimate(brief.system) + brief.messages.reduce((sum, message) => sum + estimate(JSON.stringify(message)), 0)
}

/** The richest detail, and with it the fewest turns digested, that leaves room for the next ones; else that fits at all; else the least there is. */
function chooseShape(sizes: Sizes, now: Shape, upTo: number, tokens: number): Shape {
  for (const room of [tokens * afterDigest, tokens]) {
    for (let level = now.level; level <= sizes.leastLevel; level++) {
      const isLeast = level === sizes.leastLevel
      // The last turn stays as it was, unless nothing else helps.
      const latest = isLeast && room === tokens ? upTo : Math.max(now.from, upTo - 1)
      for (let from = now.from; from <= latest; from++) {
        const shape = { from, level }
        if (!isLeast && sizes.digest(shape) > tokens * mostDigest) break
        if (sizes.of(shape, upTo) <= room) return shape
      }
    }
  }
  return { from: upTo, level: sizes.leastLevel }
}

/** Some providers want the roles to alternate. */
function joinUserMessages(messages: readonly BriefMessage[]): BriefMessage[] {
  const joined: BriefMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role === 'user' && last?.role === 'user') joined[joined.length - 1] = { role: 'user', content: `${last.content}\n\n${message.content}` }
    else joined.push(message)
  }
  return joined
}
