/** What one verb would do to each of several runs, found by reading alone. */
import type { PawlClient, Preview, Run } from '@pawl/client/http'
import { isEndedRun, PawlError } from '@pawl/core'
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
  const preview = await api[verb](run.id, { dryRun: true })
  if (!preview.dryRun) throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
  return { run, preview, refusal: preview.isAllowed ? undefined : `It is ${words(preview.status)}.` }
}

/** The whole in one sentence. */
export function sumOf(verb: BulkVerb, possible: readonly RunPreview[]): string {
  const sum = (count: (preview: Preview) => number): number => possible.reduce((total, { preview }) => total + (preview === undefined ? 0 : count(preview)), 0)
  const calls = `${number(sum(({ calledAgain }) => calledAgain.length))} calls called again under their keys, ${number(sum(({ verified }) => verified.length))} verified, ${number(sum(({ asked }) => asked.length))} asked of a person`
  if (possible.length === 0) return 'None of them can be told to.'
  if (verb === 'pause') return `${plural(possible.length, 'run')} ${possible.length === 1 ? 'stops' : 'stop'} at the next call boundaries; calls under way end as they will.`
  if (verb === 'cancel') return `${plural(possible.length, 'run')} ended, ${plural(sum(({ items }) => items.stopped), 'item')} stopped; ${calls}.`
  return `${plural(sum(({ items }) => items.again), 'item')} go round again in ${plural(possible.length, 'run')}; ${calls}. Nothing committed is repeated.`
}
