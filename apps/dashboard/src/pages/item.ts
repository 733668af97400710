/** One item: what its calls did, each as the ledger has it. */
import type { Action, Item, Page, Run } from '@pawl/client'
import { html } from 'hono/html'
import { layout, type Frame } from './layout.ts'
import { empty, fact, linkWith, pager, reasons, shortId, status, when, words } from './parts.ts'
import { showValue, visible, type Html } from './visible.ts'

export function itemPage(frame: Frame, run: Run, item: Item, actions: Page<Action>, cursor: string | undefined): Html {
  const runHref = `${frame.base}/runs/${run.id}`
  const href = `${runHref}/items/${item.seq}`
  return layout(frame, `Item ${item.seq} ${item.key}`, 'runs', html`
  <div id="head" data-live>
  <p class="crumbs"><a href="${frame.base}/">Runs</a> / <a href="${runHref}">${visible(run.agent)} ${shortId(run.id)}</a></p>
  <h1><span class="quiet">${item.seq}</span> ${visible(item.key)} ${status(item.status)}</h1>
  ${item.blockedReason === null ? '' : html`<p class="notice">Waits: <b>${words(item.blockedReason)}</b>, ${reasons[item.blockedReason]}. <a href="${linkWith(`${frame.base}/inbox`, { run: run.id })}">Inbox</a></p>`}
  <dl class="facts card">
    ${fact('Kind', item.kind)}
    ${fact('Attempts', html`${item.attempts}${item.failures === 0 ? '' : html`, ${item.failures} of them failed`}`)}
    ${fact('Started', when(item.startedAt))}
    ${item.finishedAt !== null ? fact('Ended', when(item.finishedAt)) : item.status === 'pending' ? fact('Due', when(item.availableAt)) : ''}
    ${item.workerId === null ? '' : fact('Held by', html`<code>${shortId(item.workerId)}</code>, lease ${when(item.leaseUntil)}`)}
    ${item.resultRef === null ? '' : fact('Result reference', html`<code>${visible(item.resultRef)}</code>`)}
    ${item.error === null ? '' : fact('Error', html`<span class="bad-text">${visible(`${item.error.code ?? item.error.name}: ${item.error.message}`)}</span>`)}
  </dl>
  ${isEmptyDetail(item.blockedDetail) ? '' : html`<h2>Beside the reason</h2>${showValue(item.blockedDetail)}`}
  </div>
  <div class="columns">
    <section id="payload" data-live><h2>Payload</h2>${showValue(item.payload)}</section>
    <section id="result" data-live><h2>Result</h2>${item.result === null ? html`<p class="quiet">None yet.</p>` : showValue(item.result)}</section>
  </div>
  <section id="actions" data-live><h2>Actions</h2>
  ${actions.entries.length === 0 ? empty('It has called no tool yet.') : html`<ol class="plain-list">${actions.entries.map(actionCard)}</ol>`}
  ${pager((next) => linkWith(href, { cursor: next }), cursor === undefined, actions.cursor)}
  </section>`)
}

export const isEmptyDetail = (detail: unknown): boolean => detail === null || detail === undefined || (typeof detail === 'object' && Object.keys(detail).length === 0)

function actionCard(action: Action): Html {
  return html`<li class="card action" id="action-${action.id}">
    <p class="title"><b>${visible(action.tool)}</b><span class="quiet">@${visible(action.toolVersion)}</span> ${status(action.status)} <span class="label">${action.effect}</span>${action.undoes === null
      ? '' : html` <span class="label">undoes <a href="#action-${action.undoes}">${action.undoes}</a></span>`}</p>
    ${actionFacts(action)}
    <div class="columns">
      <div><h3>Arguments</h3>${showValue(action.args)}</div>
      <div><h3>Result</h3>${action.status === 'committed' || action.status === 'compensated' ? showValue(action.result) : html`<p class="quiet">Not known.</p>`}</div>
    </div>
    ${evidence(action)}
    ${action.undo === null ? '' : html`<h3>Its inverse</h3>${showValue(action.undo)}`}
  </li>`
}

/** Key, attempt, who settled it: the same on the item's page and in the inbox. */
export function actionFacts(action: Action): Html {
  return html`<dl class="facts">
    ${fact('Key', html`<code class="break">${visible(action.key)}</code>`)}
    ${fact('Attempt', html`${action.attempt}, sent ${action.sends === 1 ? 'once' : `${action.sends} times`}${action.refused === 0 ? '' : `, ${action.refused} proved not applied`}`)}
    ${fact('Started', when(action.startedAt))}
    ${action.committedAt === null ? '' : fact('Committed', when(action.committedAt))}
    ${action.keyExpiresAt === null ? '' : fact('Key known until', when(action.keyExpiresAt))}
    ${action.settledBy === null ? '' : fact('Settled by', visible(action.settledBy))}
    ${action.error === null ? '' : fact('Error', html`<span class="bad-text">${visible(`${action.error.code ?? action.error.name}: ${action.error.message}`)}</span>`)}
  </dl>`
}

export function evidence(action: Action): Html {
  if (action.evidence.length === 0 && action.appliedEvidence === null) return html``
  return html`<h3>Evidence</h3>${action.appliedEvidence === null ? '' : html`<p>Its result came too late to be recorded by its holder, and proves that it happened:</p>${showValue(action.appliedEvidence)}`}
    ${action.evidence.map((entry) => showValue(entry))}`
}
