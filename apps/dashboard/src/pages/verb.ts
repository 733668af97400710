/** What a verb would do, before it does it. */
import type { Preview, Run } from '@pawl/client'
import { html } from 'hono/html'
import { csrfField, layout, type Frame } from './layout.ts'
import { fact, number, shortId, status, words } from './parts.ts'
import { visible, type Html } from './visible.ts'

export const VERBS = ['pause', 'resume', 'cancel', 'compensate'] as const
export type Verb = (typeof VERBS)[number]

const sentences: Readonly<Record<Verb, string>> = {
  pause: 'The run stops at its next call boundaries: calls under way run to their end and are recorded, nothing new is begun. Resume lets it go on.',
  resume: 'The run goes on. What is committed is never repeated.',
  cancel: 'The run ends now. What it did stays done; calls under way are settled after the fact, and nothing is sent to find out.',
  compensate: 'What the run did is undone, newest first. This cannot be called back; what has no inverse stands and is listed as residue.',
}

/** @param preview undefined for `pause`, which decides about nothing but the run. */
export function verbPage(frame: Frame, verb: Verb, run: Run, preview: Preview | undefined): Html {
  const runHref = `${frame.base}/runs/${run.id}`
  const name = `${verb[0]?.toUpperCase()}${verb.slice(1)}`
  const isAllowed = preview?.isAllowed ?? true
  return layout(frame, `${name} ${run.agent} ${run.id}`, 'runs', html`
  <p class="crumbs"><a href="${frame.base}/">Runs</a> / <a href="${runHref}">${visible(run.agent)} ${shortId(run.id)}</a></p>
  <h1>${name} this run? ${status(run.status)}</h1>
  <p>${sentences[verb]}</p>
  ${preview === undefined ? html`<dl class="facts card">${fact('In progress', number(run.tally.inProgress))}${fact('Not begun', number(run.tally.pending))}${fact('Done', number(run.tally.done))}</dl>` : previewed(runHref, preview)}
  ${isAllowed ? html`<form method="post" action="${runHref}/${verb}" class="confirm">
    ${csrfField(frame.session)}<input type="hidden" name="seen" value="${stateOf(run)}">
    ${verb === 'cancel' || verb === 'compensate' ? html`<label>Reason, for the record<input name="reason" maxlength="1900" placeholder="optional"></label>` : ''}
    <button class="${verb === 'cancel' || verb === 'compensate' ? 'danger' : 'main'}">${name} the run</button> <a class="button" href="${runHref}">Leave it as it is</a>
  </form>` : html`<p class="notice">A run that is ${words(run.status)} takes no ${verb}. <a href="${runHref}">Back to the run</a></p>`}`)
}

/** What the person saw: if it changed by the time they say yes, they are shown it again. */
export const stateOf = (run: Pick<Run, 'status' | 'paused' | 'ending'>): string => `${run.status} ${run.paused ? 'paused' : 'unpaused'} ${run.ending}`

function previewed(runHref: string, preview: Preview): Html {
  const lists = [
    ['Called again', 'under the same key', preview.calledAgain], ['Verified', 'the receiver is asked, nothing is sent', preview.verified],
    ['Asked', 'a person decides, in the inbox', preview.asked], ['Undone', 'in this order', preview.undone], ['Residue', 'stands, nothing can take it back', preview.residue],
  ] as const
  return html`<dl class="facts card">
    ${preview.verb === 'resume' ? fact('Items that go round again', number(preview.items.again)) : fact('Items that are stopped', number(preview.items.stopped))}
    ${fact('Items left as they are', number(preview.items.kept))}
    ${preview.verb === 'resume' ? fact('Committed calls that are skipped', number(preview.skipped)) : ''}
    ${lists.map(([name, , calls]) => fact(name, `${number(calls.length)}${preview.isCut && calls.length >= 1_000 ? ' or more' : ''}`))}
  </dl>
  ${lists.filter(([, , calls]) => calls.length > 0).map(([name, how, calls]) => html`<details class="card"${calls.length <= 20 ? ' open' : ''}><summary>${name}: ${number(calls.length)} <span class="quiet">${how}</span></summary>
    <table class="rows"><thead><tr><th>Item</th><th>Tool</th><th class="wide">Key</th><th>Now</th><th class="wide">Why</th></tr></thead><tbody>${calls.slice(0, 200).map((call) => html`<tr>
      <td data-name="Item"><a href="${runHref}/items/${call.itemSeq}">${call.itemSeq}</a></td><td data-name="Tool">${visible(call.tool)}</td>
      <td data-name="Key" class="wide"><code class="break">${visible(call.key)}</code></td><td data-name="Now">${status(call.status)}</td><td data-name="Why" class="wide">${call.why}</td></tr>`)}</tbody></table>
    ${calls.length > 200 ? html`<p class="quiet small">The first 200 of them.</p>` : ''}</details>`)}`
}
