/**
 * A decision as a model would utter it the n-th time it is asked: same meaning, other words, other order, other ids. Deterministic by `n`, so that a failing test
 * fails again; different for every `n`, so that nothing can hang on two answers being alike.
 */
import type { Decision, ModelApi, ModelCall } from './conversation.ts'

export interface Answer {
  readonly text: string
  readonly calls: readonly ModelCall[]
}

const openings = ['Next', 'Now', 'Going on', 'Continuing', 'What follows', 'On with it', 'Then', 'My next step']

export function word(decision: Decision, api: ModelApi, n: number): Answer {
  const calls = rotate(decision.calls ?? [], n)
  const reworded = calls.map(({ name, input }, i): ModelCall => ({
    id: api === 'openai' ? `call_${mix(n, i)}` : `toolu_${mix(n, i)}`, name,
    input: rotateMembers(Object.fromEntries(Object.entries(input).map(([member, value]) => [member, decision.reword?.includes(member) && typeof value === 'string' ? `${value} (${mix(n, 97)})` : value])), n),
  }))
  const opening = openings[n % openings.length] ?? ''
  const text = decision.text === undefined && reworded.length > 0 && n % 3 === 0 ? '' : `${opening} (${n}): ${decision.text ?? 'calling tools.'}`
  return { text, calls: reworded }
}

const rotate = <T>(list: readonly T[], n: number): T[] => (list.length === 0 ? [] : [...list.slice(n % list.length), ...list.slice(0, n % list.length)])
const rotateMembers = (input: Record<string, unknown>, n: number): Record<string, unknown> => Object.fromEntries(rotate(Object.entries(input), n))

/** Sixteen letters and digits that look like an id, from two numbers. */
function mix(n: number, i: number): string {
  let state = (n * 2_654_435_761 + i * 40_503 + 1) >>> 0
  return Array.from({ length: 16 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 'abcdefghijklmnopqrstuvwxyz0123456789'[state % 36]
  }).join('')
}
