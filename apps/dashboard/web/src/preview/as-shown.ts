/** A yes is a yes to what was shown: what a preview is, and when it is still the same. */
import { PawlError } from '@pawl/core'
import type { Preview, RepinPreview } from '@pawl/client/http'

/** Looks once more and acts on what is found; where that is something else than was shown, nothing is done: undefined. */
export async function actAsShown<P, R extends {}>(shown: P, look: () => Promise<P>, isSame: (shown: P, now: P) => boolean, act: (now: P) => Promise<R>): Promise<R | undefined> {
  const now = await look()
  return isSame(shown, now) ? await act(now) : undefined
}

/** What a dry run answered. Throws `PRODUCER_ACTED`. */
export function previewIn<A extends { readonly dryRun: boolean }>(answer: A): Extract<A, { readonly dryRun: true }> {
  if (isPreview(answer)) return answer
  throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
}

const isPreview = <A extends { readonly dryRun: boolean }>(answer: A): answer is Extract<A, { readonly dryRun: true }> => answer.dryRun

/** Counts move by themselves while somebody reads; the state of the run is what the rest follows from. */
export const isSameState = (shown: Pick<Preview, 'status' | 'isAllowed'>, now: Pick<Preview, 'status' | 'isAllowed'>): boolean => shown.status === now.status && shown.isAllowed === now.isAllowed

/** From what to what it is moved, and what of the old the new one lacks or changes. */
export function isSameMove(shown: RepinPreview, now: RepinPreview): boolean {
  const essence = ({ from, to, unserved, changedTools }: RepinPreview): string => JSON.stringify([from, to, unserved.map(({ tool, version }) => `${tool}@${version}`).toSorted(), changedTools])
  return isSameState(shown, now) && essence(shown) === essence(now)
}
