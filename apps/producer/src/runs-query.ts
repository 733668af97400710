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
  return { ...query, labels: label === undefined ? undefined : allOf([label].flat().flatMap((text) => Object.entries(labelsOf(text)))), paused: paused === undefined ? undefined : paused === 'true' }
}

/** All of them must hold, which two values under one name never do. */
function allOf(labels: readonly (readonly [string, string])[]): Record<string, string> {
  const wanted = new Map<string, string>()
  for (const [name, value] of labels) {
    const other = wanted.get(name)
    if (other !== undefined && other !== value) throw new PawlError('BAD_LABELS', `label asks for ${told(name)} with two values, ${told(other)} and ${told(value)}: all labels must hold, so no run could be found. Ask for each in a request of its own.`)
    wanted.set(name, value)
  }
  return Object.fromEntries(wanted)
}

const told = (text: string): string => JSON.stringify(text.slice(0, 64))

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
