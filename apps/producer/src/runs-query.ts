/** The filter over runs as a query says it. */
import type { RunsFilter } from '@pawl/client'
import { PawlError } from '@pawl/core'
import { z } from 'zod'

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text))

export const runsQuery = {
  agent: z.string().max(200).optional(),
  label: z.union([z.string(), z.array(z.string())]).optional(),
  search: z.string().min(1).max(300).optional(),
  createdAfter: moment.optional(),
  createdBefore: moment.optional(),
  paused: z.enum(['true', 'false']).optional(),
}

type Query = Omit<RunsFilter, 'labels' | 'paused'> & { readonly label?: string | string[] | undefined; readonly paused?: 'true' | 'false' | undefined }

/** Throws `BAD_LABELS`. */
export function wantedOf<Q extends Query>({ label, paused, ...query }: Q): Omit<Q, 'label' | 'paused'> & Pick<RunsFilter, 'labels' | 'paused'> {
  return { ...query, labels: label === undefined ? undefined : Object.assign({}, ...[label].flat().map(labelsOf)) as Record<string, string>, paused: paused === undefined ? undefined : paused === 'true' }
}

function labelsOf(text: string): Record<string, string> {
  try {
    if (text.startsWith('{')) return z.record(z.string(), z.string()).parse(JSON.parse(text))
  } catch {
    throw new PawlError('BAD_LABELS', 'label must be name:value, or a JSON object of texts.')
  }
  const at = text.indexOf(':')
  if (at < 1) throw new PawlError('BAD_LABELS', 'label must be name:value, or a JSON object of texts.')
  return { [text.slice(0, at)]: text.slice(at + 1) }
}
