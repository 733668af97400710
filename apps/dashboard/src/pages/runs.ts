/** All runs: what is going on, and what needs somebody. */
import type { Page, Run } from '@pawl/client'
import { RUN_STATUSES, type RunStatus } from '@pawl/core'
import { html } from 'hono/html'
import { layout, type Frame } from './layout.ts'
import { chips, empty, linkWith, number, pager, progressBar, shortId, status, when, words } from './parts.ts'
import { visible, visibleText, type Html } from './visible.ts'

export interface RunsQuery {
  readonly status?: RunStatus | undefined
  readonly agent?: string | undefined
  /** `name:value` */
  readonly label?: string | undefined
  readonly cursor?: string | undefined
}

export interface RunCounts {
  readonly of: number
  readonly isAll: boolean
  readonly byStatus: Readonly<Partial<Record<RunStatus, number>>>
}

export function runsPage(frame: Frame, query: RunsQuery, page: Page<Run>, counts: RunCounts): Html {
  const href = (change: RunsQuery): string => linkWith(`${frame.base}/`, { ...query, cursor: undefined, ...change })
  const isFiltered = query.status !== undefined || query.agent !== undefined || query.label !== undefined
  return layout(frame, 'Runs', 'runs', html`
  <h1>Runs</h1>
  <div id="counts" data-live>${chips('By status', [
    { href: href({ status: undefined }), text: 'all', count: counts.isAll ? number(counts.of) : undefined, isHere: query.status === undefined },
    ...RUN_STATUSES.filter((name) => (counts.byStatus[name] ?? 0) > 0 || name === query.status).map((name) => ({
      href: href({ status: name }), text: words(name), count: number(counts.byStatus[name] ?? 0), isHere: query.status === name,
    })),
  ])}${counts.isAll ? '' : html`<p class="quiet small">Counted over the newest ${number(counts.of)} runs.</p>`}</div>
  <form class="filters" method="get" action="${frame.base}/">
    ${query.status === undefined ? '' : html`<input type="hidden" name="status" value="${query.status}">`}
    <label>Agent<input name="agent" value="${query.agent ?? ''}" placeholder="any"></label>
    <label>Label<input name="label" value="${query.label ?? ''}" placeholder="name:value"></label>
    <button>Filter</button>${isFiltered ? html`<a href="${frame.base}/">Clear</a>` : ''}
  </form>
  <div id="runs" data-live>${page.entries.length === 0
    ? isFiltered ? empty('No run matches.') : empty('No run was started yet. Start one:', 'npx pawl run start <agent> --input input.json')
    : html`<table class="rows"><thead><tr><th>Run</th><th>Status</th><th class="wide">Progress</th><th>Started by</th><th>Created</th></tr></thead>
      <tbody>${page.entries.map((run) => row(frame.base, run))}</tbody></table>`}
  ${pager((cursor) => href({ cursor }), query.cursor === undefined, page.cursor)}</div>`)
}

function row(base: string, run: Run): Html {
  const { tally, open } = run
  return html`<tr>
    <td data-name="Run"><a class="strong" href="${base}/runs/${run.id}">${visible(run.agent)}<span class="quiet">@${visible(run.agentVersion)}</span></a>
      <div class="small"><code class="quiet" title="${run.id}">${shortId(run.id)}</code>${Object.entries(run.labels).slice(0, 4).map(([name, value]) =>
        html` <a class="label" title="Only runs with this label" href="${linkWith(`${base}/`, { label: `${name}:${value}` })}">${visible(`${name}:${value}`)}</a>`)}</div></td>
    <td data-name="Status">${status(run.status)}${run.paused ? html` <span class="status quiet">paused</span>` : ''}</td>
    <td data-name="Progress" class="wide">${progressBar(run)}<div class="small">${number(tally.done)} of ${number(tally.total)} done${tally.failed === 0 ? '' : html` · <span class="bad-text">${number(tally.failed)} failed</span>`}${open.blocked === 0
      ? '' : html` · <a class="warn-text" href="${linkWith(`${base}/inbox`, { run: run.id })}">${number(open.blocked)} blocked</a>`}</div></td>
    <td data-name="Started by" title="${visibleText(run.createdBy)}">${visible(run.createdBy)}</td>
    <td data-name="Created">${when(run.createdAt)}</td>
  </tr>`
}
