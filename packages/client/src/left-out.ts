/** What lists leave out of an action for its size. Runs in browsers too. */
import { omittedBytes } from '@pawl/core'
import type { Action } from './wire.ts'

export interface LeftOut {
  readonly values: number
  readonly bytes: number
}

/** Undefined: it is whole. `getAction` has the rest. */
export function leftOutOf({ args, result, undo, appliedEvidence, evidence }: Pick<Action, 'args' | 'result' | 'undo' | 'appliedEvidence' | 'evidence'>): LeftOut | undefined {
  const sizes = [args, result, undo, appliedEvidence, ...evidence].flatMap((value) => omittedBytes(value) ?? [])
  return sizes.length === 0 ? undefined : { values: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) }
}
