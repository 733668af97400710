/** Which runs are shown is the page's address: it can be kept, sent and gone back to. */
import type { PawlClient } from '@pawl/client/http'
import { RUN_STATUSES, type RunStatus } from '@pawl/core'

type ClientFilter = NonNullable<Parameters<PawlClient['countRuns']>[0]>

export interface RunsView {
  readonly status: readonly RunStatus[]
  readonly agent: string
  /** `name:value`, each. */
  readonly labels: readonly string[]
  readonly search: string
  readonly isPaused: boolean
}

const isStatus = (text: string): text is RunStatus => RUN_STATUSES.some((status) => status === text)
const isLabel = (text: string): boolean => text.indexOf(':') > 0

const nameOf = (label: string): string => label.slice(0, label.indexOf(':'))

/** What the address says; what it says wrongly is left out, and of two values under one name, which no run has, the earlier. */
export const readView = (search: URLSearchParams): RunsView => ({
  status: search.getAll('status').filter(isStatus),
  agent: search.get('agent')?.trim() ?? '',
  labels: search.getAll('label').filter(isLabel).filter((label, i, all) => i === all.findLastIndex((other) => nameOf(other) === nameOf(label))),
  search: search.get('search')?.trim() ?? '',
  isPaused: search.get('paused') === 'true',
})

export function writeView({ status, agent, labels, search, isPaused }: RunsView): URLSearchParams {
  const next = new URLSearchParams()
  for (const each of status) next.append('status', each)
  if (agent !== '') next.set('agent', agent)
  for (const each of labels) next.append('label', each)
  if (search !== '') next.set('search', search)
  if (isPaused) next.set('paused', 'true')
  return next
}

export const isFiltered = (view: RunsView): boolean => writeView(view).size > 0

/** As the client takes it, but for the status: counts are by status. */
export function filterOf({ agent, labels, search, isPaused }: RunsView): ClientFilter {
  return {
    ...(agent === '' ? {} : { agent }),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels.map((label) => [nameOf(label), label.slice(label.indexOf(':') + 1)])) }),
    ...(search === '' ? {} : { search }),
    ...(isPaused ? { paused: true } : {}),
  }
}
