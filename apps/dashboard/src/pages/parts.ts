/** What several pages show alike: states, bars, times, tables' ends. */
import type { ActionStatus, BlockedReason, ItemStatus, RunStatus } from '@pawl/core'
import type { Run } from '@pawl/client'
import { html } from 'hono/html'
import type { Html } from './visible.ts'

type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet' | 'undone'

const tones: Readonly<Record<RunStatus | ItemStatus | ActionStatus, Tone>> = {
  splitting: 'busy', running: 'busy', finalizing: 'busy', completed: 'good', completed_with_failures: 'warn', failed: 'bad', cancelled: 'quiet',
  compensating: 'undone', compensated: 'undone', compensated_with_residue: 'warn',
  pending: 'quiet', in_progress: 'busy', blocked: 'warn', done: 'good',
  started: 'busy', committed: 'good', in_doubt: 'warn', abandoned: 'bad', awaiting_approval: 'warn', rejected: 'quiet', staged: 'quiet', discarded: 'quiet',
}

export const words = (name: string): string => name.replaceAll('_', ' ')
export const status = (name: RunStatus | ItemStatus | ActionStatus): Html => html`<span class="status ${tones[name]}">${words(name)}</span>`

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
  budget: 'the run’s budget is spent',
  version: 'no worker serves its agent’s version',
  key: 'another item holds the same key; it goes on when that one ends',
}

export const number = (n: number): string => n.toLocaleString('en')
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id)

const units = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's']] as const

export function lasted(ms: number): string {
  const [size, unit] = units.find(([least]) => ms >= least) ?? [1, 'ms']
  return `${Math.floor(ms / size)} ${unit}`
}

/** How long ago, with the exact time on it. */
export function when(at: Date | null, now: Date = new Date()): Html {
  if (at === null) return html`<span class="quiet">–</span>`
  const ago = now.getTime() - at.getTime()
  return html`<time datetime="${at.toISOString()}" title="${at.toISOString()}">${ago >= 0 ? `${lasted(Math.max(ago, 1))} ago` : `in ${lasted(-ago)}`}</time>`
}

/** A drawing: the policy allows no style in the markup, and a drawing's sizes are none. */
export function progressBar({ tally, open }: Pick<Run, 'tally' | 'open'>): Html {
  const rest = tally.pending
  const parts = [
    ['good', tally.done], ['undone', tally.compensated], ['bad', tally.failed], ['quiet', tally.cancelled], ['warn', tally.blocked], ['busy', tally.inProgress], ['rest', rest],
  ] as const
  const total = Math.max(1, tally.total)
  let at = 0
  const rects = parts.filter(([, n]) => n > 0).map(([tone, n]) => {
    const width = (n / total) * 1_000
    const rect = html`<rect class="${tone}" x="${at.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="10"></rect>`
    at += width
    return rect
  })
  const label = `${number(tally.done)} of ${number(tally.total)} done, ${number(tally.failed)} failed, ${number(open.blocked)} blocked`
  return html`<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${label}"><title>${label}</title>${rects}</svg>`
}

/** A link to the same page with some of its query changed. */
export function linkWith(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, value)
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

export function pager(href: (cursor: string | undefined) => string, isFirst: boolean, next: string | null): Html {
  if (isFirst && next === null) return html``
  return html`<nav class="pager" aria-label="More">${isFirst ? '' : html`<a class="button" href="${href(undefined)}">First page</a>`}
    ${next === null ? '' : html`<a class="button" rel="next" href="${href(next)}">Next page</a>`}</nav>`
}

export interface Chip {
  readonly href: string
  readonly text: string
  readonly count?: string | undefined
  readonly isHere: boolean
}

export const chips = (label: string, all: readonly Chip[]): Html => html`<nav class="chips" aria-label="${label}">${all.map((chip) =>
  html`<a href="${chip.href}"${chip.isHere ? html` aria-current="true"` : ''}>${chip.text}${chip.count === undefined ? '' : html` <b>${chip.count}</b>`}</a>`)}</nav>`

export const empty = (sentence: Html | string, command?: string): Html =>
  html`<div class="empty"><p>${sentence}</p>${command === undefined ? '' : html`<pre><code>${command}</code></pre>`}</div>`

export const fact = (name: Html | string, value: Html | string | number): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`
