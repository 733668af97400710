/** How states, counts and times are said; one word per idea, the ledger's own. */
import type { ActionStatus, BlockedReason, ItemStatus, QuestionStatus, RunStatus } from '@pawl/core'
import type { Tone } from './theme.ts'

export type AnyStatus = RunStatus | ItemStatus | ActionStatus | QuestionStatus

const tones: Readonly<Record<AnyStatus, Tone>> = {
  splitting: 'busy', running: 'busy', finalizing: 'busy', completed: 'good', completed_with_failures: 'warn', failed: 'bad', cancelled: 'quiet',
  compensating: 'undone', compensated: 'undone', compensated_with_residue: 'warn',
  pending: 'rest', in_progress: 'busy', blocked: 'warn', done: 'good',
  started: 'busy', committed: 'good', in_doubt: 'warn', abandoned: 'bad', awaiting_approval: 'warn', rejected: 'quiet', staged: 'quiet', discarded: 'quiet',
  open: 'warn', answered: 'good', void: 'quiet',
}

export const toneOf = (status: AnyStatus): Tone => tones[status]
export const words = (name: string): string => name.replaceAll('_', ' ')

/** Why an item waits, in a sentence for whoever has to end the waiting. */
export const reasons: Readonly<Record<BlockedReason, string>> = {
  in_doubt: 'a call may or may not have happened; a person has to say',
  conflict: 'the same key was used with other arguments',
  diverged: 'the agent now asks for other calls than its record holds',
  undo: 'an undo could not be done',
  crash_loop: 'its worker died again and again without a verdict',
  tool_output: 'a result could not be kept as it came',
  tool_input: 'the recorded arguments no longer fit the tool',
  approval: 'waits for a yes or no',
  question: 'waits for an answer',
  budget: 'what its models may spend is spent',
  version: 'no worker serves its agent’s version',
  key: 'another item holds the same key; it goes on when that one ends',
}

export const number = (n: number): string => n.toLocaleString('en')
export const plural = (n: number, one: string, many = `${one}s`): string => `${number(n)} ${n === 1 ? one : many}`
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id)

const units = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's']] as const

/** `1 h 20 min`: the two largest units that say something. */
export function lasted(ms: number): string {
  const at = units.findIndex(([least]) => ms >= least)
  if (at < 0) return `${Math.max(0, Math.round(ms))} ms`
  const [size, unit] = units[at] ?? [1, 'ms']
  const [next, nextUnit] = units[at + 1] ?? [0, '']
  const rest = next === 0 ? 0 : Math.floor((ms % size) / next)
  return `${Math.floor(ms / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${nextUnit}`}`
}

export function ago(at: Date, now: number): string {
  const ms = now - at.getTime()
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`
}

function coarse(ms: number): string {
  const [size, unit] = units.find(([least]) => ms >= least) ?? [1, 'ms']
  return `${Math.floor(ms / size)} ${unit}`
}
