/** One run: how far it is, why parts of it are not, what it may be told to do. */
import type { Item, Page, Run } from '@pawl/client'
import { isEndedRun, ITEM_STATUSES, type ItemKind, type ItemStatus } from '@pawl/core'
import { html } from 'hono/html'
import { mayAct } from '../auth/users.ts'
import { layout, type Frame } from './layout.ts'
import { chips, empty, fact, lasted, linkWith, number, pager, progressBar, reasons, status, when, words } from './parts.ts'
import { showValue, visible, type Html } from './visible.ts'

export interface ItemsQuery {
  readonly status?: ItemStatus | undefined
  readonly kind?: ItemKind | undefined
  readonly cursor?: string | undefined
}

export interface FailureGroup {
  readonly reason: string
  readonly count: number
  /** One of them, to look at. */
  readonly seq: number
}

export interface Failures {
  readonly groups: readonly FailureGroup[]
  /** True: there are more failed items than were read. */
  readonly isCut: boolean
}

export function runPage(frame: Frame, run: Run, query: ItemsQuery, items: Page<Item>, failures: Failures): Html {
  const base = `${frame.base}/runs/${run.id}`
  return layout(frame, `${run.agent} ${run.id}`, 'runs', html`
  <div id="head" data-live>
  <p class="crumbs"><a href="${frame.base}/">Runs</a></p>
  <h1>${visible(run.agent)}<span class="quiet">@${visible(run.agentVersion)}</span> ${status(run.status)}${run.paused ? html` <span class="status quiet">paused</span>` : ''}</h1>
  <p class="small"><code>${run.id}</code></p>
  ${mayAct(frame.session.role, 'operate') ? buttons(base, run) : ''}
  ${progress(frame.base, base, run)}
  </div>
  <div class="columns">
    <section id="facts" data-live><h2>Run</h2>${facts(run)}</section>
    <section id="failures" data-live><h2>What failed</h2>${failureTable(base, failures)}</section>
  </div>
  <details class="card"><summary>Input</summary>${showValue(run.input)}</details>
  ${run.result === null ? '' : html`<details class="card"><summary>Result</summary>${showValue(run.result)}</details>`}
  <section id="items" data-live><h2>Items</h2>
  ${chips('By status', [
    { href: base, text: 'all', count: undefined, isHere: query.status === undefined && query.kind === undefined },
    ...ITEM_STATUSES.filter((name) => countOf(run, name) !== '0' || query.status === name).map((name) => ({ href: linkWith(base, { status: name }), text: words(name), count: countOf(run, name), isHere: query.status === name })),
    ...(['split', 'finalize', 'compensate', 'settle'] as const).map((kind) => ({ href: linkWith(base, { kind }), text: kind, isHere: query.kind === kind })),
  ])}
  ${items.entries.length === 0 ? empty('No item is in this state.') : html`<table class="rows"><thead><tr><th>Item</th><th>Status</th><th>Attempts</th><th class="wide">Outcome</th><th>Last</th></tr></thead>
    <tbody>${items.entries.map((item) => itemRow(base, item))}</tbody></table>`}
  ${pager((cursor) => linkWith(base, { ...query, cursor }), query.cursor === undefined, items.cursor)}
  </section>`)
}

const countOf = ({ tally }: Run, name: ItemStatus): string =>
  number({ pending: tally.pending, in_progress: tally.inProgress, blocked: tally.blocked, done: tally.done, failed: tally.failed, cancelled: tally.cancelled, compensated: tally.compensated }[name])

function progress(root: string, base: string, run: Run): Html {
  const { tally, open, blockedReasons } = run
  const percent = tally.total === 0 ? 0 : Math.floor(((tally.total - tally.pending - tally.inProgress - tally.blocked) / tally.total) * 100)
  const counts = [['done', tally.done, 'good'], ['failed', tally.failed, 'bad'], ['blocked', tally.blocked, 'warn'], ['in_progress', tally.inProgress, 'busy'], ['pending', tally.pending, 'rest'], ['cancelled', tally.cancelled, 'quiet'], ['compensated', tally.compensated, 'undone']] as const
  const blocked = Object.entries(blockedReasons)
  return html`<div class="card progress">${progressBar(run)}
    <p class="legend"><b>${percent} %</b> ${counts.filter(([, n]) => n > 0).map(([name, n, tone]) => html`<a href="${linkWith(base, { status: name })}"><span class="dot ${tone}"></span>${number(n)} ${words(name)}</a> `)}<span class="quiet">of ${number(tally.total)}</span></p>
    ${blocked.length === 0 ? '' : html`<p class="small">${number(open.blocked)} wait for a reason: ${blocked.map(([reason, n], i) =>
      html`${i === 0 ? '' : ', '}<span title="${reasons[reason as keyof typeof reasons]}">${number(n)} ${words(reason)}</span>`)}. <a href="${linkWith(`${root}/inbox`, { run: run.id })}">Answer in the inbox</a></p>`}
  </div>`
}

function facts(run: Run): Html {
  const ms = run.startedAt === null ? undefined : (run.finishedAt ?? new Date()).getTime() - run.startedAt.getTime()
  return html`<dl class="facts">
    ${fact('Created', html`${when(run.createdAt)} by ${visible(run.createdBy)}`)}
    ${fact('Started', when(run.startedAt))}
    ${fact('Ended', run.finishedAt === null ? html`<span class="quiet">not yet</span>` : when(run.finishedAt))}
    ${ms === undefined ? '' : fact('Took', lasted(Math.max(1, ms)))}
    ${fact('Pins', html`agent version ${visible(run.agentVersion)}`)}
    ${run.ending > 1 ? fact('Sent round', `${run.ending} times`) : ''}
    ${fact('Namespace', run.namespace)}
    ${Object.entries(run.policy).map(([name, value]) => fact(name, visible(String(value))))}
    ${Object.entries(run.labels).map(([name, value]) => fact(html`label ${visible(name)}`, visible(value)))}
    ${run.error === null ? '' : fact('Error', visible(`${run.error.code ?? run.error.name}: ${run.error.message}`))}
  </dl>`
}

/** Only what the run's state allows; each leads to a page that says first what would happen. */
function buttons(base: string, run: Run): Html {
  const ended = isEndedRun(run.status)
  const can = {
    pause: !ended && !run.paused,
    resume: run.paused || ['failed', 'completed_with_failures', 'cancelled'].includes(run.status),
    cancel: !ended && run.status !== 'compensating',
    compensate: !['splitting', 'compensating', 'compensated'].includes(run.status),
  }
  const all = Object.entries(can).filter(([, isAllowed]) => isAllowed)
  return html`<p class="actions">${all.map(([verb]) => html`<a class="button${verb === 'cancel' || verb === 'compensate' ? ' danger' : ''}" href="${base}/${verb}">${verb[0]?.toUpperCase()}${verb.slice(1)}…</a> `)}</p>`
}

function failureTable(base: string, { groups, isCut }: Failures): Html {
  if (groups.length === 0) return html`<p class="quiet">Nothing.</p>`
  return html`<ul class="groups">${groups.map((group) => html`<li><a href="${base}/items/${group.seq}" title="One of them"><b>${number(group.count)}</b></a> <span>${visible(group.reason)}</span></li>`)}</ul>
    ${isCut ? html`<p class="quiet small">Grouped over the first thousand failed items.</p>` : ''}`
}

function itemRow(base: string, item: Item): Html {
  const outcome = item.error !== null && item.status !== 'done' ? html`<span class="bad-text">${visible(`${item.error.code ?? item.error.name}: ${item.error.message}`.slice(0, 200))}</span>`
    : item.blockedReason !== null ? html`<span title="${reasons[item.blockedReason]}">${words(item.blockedReason)}</span>`
    : item.resultRef !== null ? html`<code>${visible(item.resultRef.slice(0, 80))}</code>` : html`<span class="quiet">–</span>`
  return html`<tr>
    <td data-name="Item"><a href="${base}/items/${item.seq}"><span class="quiet">${item.seq}</span> ${visible(item.key)}</a>${item.kind === 'work' ? '' : html` <span class="label">${item.kind}</span>`}</td>
    <td data-name="Status">${status(item.status)}</td>
    <td data-name="Attempts">${item.attempts}${item.failures === 0 ? '' : html` <span class="quiet">(${item.failures} failed)</span>`}</td>
    <td data-name="Outcome" class="wide">${outcome}</td>
    <td data-name="Last">${when(item.finishedAt ?? item.startedAt)}</td>
  </tr>`
}
