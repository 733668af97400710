/** What one verb would do to each of several runs, found by reading alone. */
import type { PawlClient, Preview, Run } from '@pawl/client/http'
import { isEndedRun } from '@pawl/core'
import { previewIn } from '../../preview/as-shown.ts'
import { number, plural, words } from '../../words.ts'

export type BulkVerb = 'pause' | 'resume' | 'cancel'

export interface RunPreview {
  readonly run: Run
  /** Of `pause` there is nothing to find out. */
  readonly preview: Preview | undefined
  /** Why the verb would be refused. */
  readonly refusal: string | undefined
}

const atOnce = 6

export async function previewAll(api: Pick<PawlClient, 'resume' | 'cancel'>, verb: BulkVerb, runs: readonly Run[]): Promise<RunPreview[]> {
  const found: RunPreview[] = []
  for (let i = 0; i < runs.length; i += atOnce) found.push(...await Promise.all(runs.slice(i, i + atOnce).map((run) => previewOne(api, verb, run))))
  return found
}

async function previewOne(api: Pick<PawlClient, 'resume' | 'cancel'>, verb: BulkVerb, run: Run): Promise<RunPreview> {
  if (verb === 'pause') return { run, preview: undefined, refusal: isEndedRun(run.status) ? `It is ${words(run.status)}.` : run.paused ? 'It is paused already.' : undefined }
  const preview = previewIn(await api[verb](run.id, { dryRun: true }))
  return { run, preview, refusal: preview.isAllowed ? undefined : `It is ${words(preview.status)}.` }
}

export const isPossible = ({ refusal }: RunPreview): boolean => refusal === undefined

/**
 * Whether a yes to the one is a yes to the other: each run that would be told now was to be told as it is now. Being under way is one state, since runs go
 * through it by themselves. A run that can no longer be told is left alone and holds up nobody, unless no other is left.
 */
export function isSameForAll(shown: readonly RunPreview[], now: readonly RunPreview[]): boolean {
  const before = new Map(shown.filter(isPossible).map((one) => [one.run.id, stateOf(one)]))
  const told = now.filter(isPossible)
  return told.length > 0 && told.every((one) => before.get(one.run.id) === stateOf(one))
}

function stateOf({ run, preview }: RunPreview): string {
  const status = preview?.status ?? run.status
  return isEndedRun(status) ? status : 'under way'
}

/** The whole in one sentence. */
export function sumOf(verb: BulkVerb, possible: readonly RunPreview[]): string {
  const sum = (count: (preview: Preview) => number): number => possible.reduce((total, { preview }) => total + (preview === undefined ? 0 : count(preview)), 0)
  const calls = `${number(sum(({ counts }) => counts.calledAgain))} calls called again under their keys, ${number(sum(({ counts }) => counts.verified))} verified, ${number(sum(({ counts }) => counts.asked))} asked of a person`
  if (possible.length === 0) return 'None of them can be told to.'
  if (verb === 'pause') return `${plural(possible.length, 'run')} ${possible.length === 1 ? 'stops' : 'stop'} at the next call boundaries; calls under way end as they will.`
  if (verb === 'cancel') return `${plural(possible.length, 'run')} ended, ${plural(sum(({ items }) => items.stopped), 'item')} stopped; ${calls}.`
  return `${plural(sum(({ items }) => items.again), 'item')} go round again in ${plural(possible.length, 'run')}; ${calls}. Nothing committed is repeated.`
}
