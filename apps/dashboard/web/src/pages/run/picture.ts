/** A run as a picture: one state per work item, in order. Kept as bytes: 100,000 items are 100 kB, and comparing two pictures is one pass. */
import type { ItemStatus } from '@pawl/core'
import type { Tone } from '../../theme.ts'

/** The letters of the wire; a state's number is its place here. */
const letters = 'padfcub'
export const STATES: readonly { readonly status: ItemStatus; readonly tone: Tone }[] = [
  { status: 'pending', tone: 'rest' }, { status: 'in_progress', tone: 'busy' }, { status: 'done', tone: 'good' }, { status: 'failed', tone: 'bad' },
  { status: 'cancelled', tone: 'quiet' }, { status: 'compensated', tone: 'undone' }, { status: 'blocked', tone: 'warn' },
]

export interface Picture {
  readonly states: Uint8Array
  /** The items' numbers, as [first, how many]. */
  readonly seqs: readonly (readonly [number, number])[]
}

/** Of `12d3p1b`. Throws when a letter is none of ours, or the counts are not `total`. */
export function readPicture({ total, states, seqs }: { readonly total: number; readonly states: string; readonly seqs: Picture['seqs'] }): Picture {
  const bytes = new Uint8Array(total)
  let at = 0
  for (const [, count, letter] of states.matchAll(/(\d+)(\D)/g)) {
    const state = letters.indexOf(letter ?? '')
    const next = at + Number(count)
    if (state < 0 || next > total) throw new Error(`A run’s picture holds ${count}${letter} at ${at} of ${total}: run dashboard and producer in the same version.`)
    bytes.fill(state, at, next)
    at = next
  }
  if (at !== total) throw new Error(`A run’s picture has ${at} of ${total} squares: run dashboard and producer in the same version.`)
  return { states: bytes, seqs }
}

export function seqAt({ seqs }: Picture, index: number): number | undefined {
  let left = index
  for (const [first, many] of seqs) {
    if (left < many) return first + left
    left -= many
  }
  return undefined
}

export function indexOfSeq({ seqs }: Picture, seq: number): number | undefined {
  let before = 0
  for (const [first, many] of seqs) {
    if (seq >= first && seq < first + many) return before + seq - first
    before += many
  }
  return undefined
}

export const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((state, i) => state === b[i])

/** How many are in each state, by the state's number. */
export function countStates(states: Uint8Array): number[] {
  const counts = STATES.map(() => 0)
  for (const state of states) counts[state] = (counts[state] ?? 0) + 1
  return counts
}
