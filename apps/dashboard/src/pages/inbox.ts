/** What waits for a person: all that is needed to decide, and what each answer will cause. */
import type { InboxItem, Page } from '@pawl/client'
import { html } from 'hono/html'
import { mayAct } from '../auth/users.ts'
import { actionFacts, evidence, isEmptyDetail } from './item.ts'
import { csrfField, layout, type Frame } from './layout.ts'
import { empty, linkWith, pager, reasons, shortId, when, words } from './parts.ts'
import { showValue, visible, type Html } from './visible.ts'

type Doubt = Extract<InboxItem, { kind: 'in_doubt' }>
type OpenApproval = Extract<InboxItem, { kind: 'approval' }>
type OpenQuestion = Extract<InboxItem, { kind: 'question' }>
type Blocked = Extract<InboxItem, { kind: 'blocked' }>

export interface InboxQuery {
  readonly run?: string | undefined
  readonly cursor?: string | undefined
}

export interface Refusal {
  readonly code: string
  readonly sentence: string
  /** What it was about, marked below where it is still there. */
  readonly about: string
}

export function entryId(entry: InboxItem): string {
  switch (entry.kind) {
    case 'in_doubt': return `action-${entry.runId}-${entry.action.id}`
    case 'approval': return `approval-${entry.runId}-${entry.approval.id}`
    case 'question': return `question-${entry.runId}-${entry.question.id}`
    case 'blocked': return `item-${entry.runId}-${entry.itemSeq}`
  }
}

export function inboxPage(frame: Frame, query: InboxQuery, page: Page<InboxItem>, refusal?: Refusal): Html {
  const base = `${frame.base}/inbox`
  return layout(frame, 'Inbox', 'inbox', html`
  <h1>Inbox</h1>
  ${query.run === undefined ? '' : html`<p>Only run <a href="${frame.base}/runs/${encodeURIComponent(query.run)}"><code>${shortId(query.run)}</code></a>. <a href="${base}">All runs</a></p>`}
  ${refusal === undefined ? '' : html`<p class="notice bad" role="alert"><b>Not done.</b> ${visible(refusal.sentence)} <code class="quiet">${refusal.code}</code></p>`}
  <div id="inbox" data-live="unless-typing">${page.entries.length === 0
    ? empty('Nothing waits for you. What needs a person appears here by itself; on the command line it is listed by:', 'npx pawl inbox')
    : page.entries.map((entry) => card(frame, query, entry, refusal?.about === entryId(entry)))}
  ${pager((cursor) => linkWith(base, { ...query, cursor }), query.cursor === undefined, page.cursor)}</div>`)
}

function card(frame: Frame, query: InboxQuery, entry: InboxItem, isMarked: boolean): Html {
  const runHref = `${frame.base}/runs/${entry.runId}`
  return html`<article class="card entry${isMarked ? ' marked' : ''}" id="${entryId(entry)}">
    <p class="crumbs"><a href="${runHref}">${visible(entry.agent)} ${shortId(entry.runId)}</a> / <a href="${runHref}/items/${entry.itemSeq}">${entry.itemSeq} ${visible(entry.itemKey)}</a></p>
    ${entry.kind === 'in_doubt' ? doubt(frame, query, entry) : entry.kind === 'approval' ? approval(entry) : entry.kind === 'question' ? question(frame, query, entry) : blocked(frame, query, entry)}
  </article>`
}

function doubt(frame: Frame, query: InboxQuery, { action, answers, answerableAt, runId }: Doubt): Html {
  const isKnown = action.appliedEvidence !== null
  return html`<h2>Did ${visible(action.tool)} happen?</h2>
    <p>It was sent, its answer was lost, and no rule can find out what became of it: the tool is <b>${action.effect}</b>. Look at the receiving system and say; until then nothing is sent.</p>
    ${actionFacts(action)}
    <h3>Arguments, as they were sent</h3>${showValue(action.args)}
    ${evidence(action)}
    ${answers.length > 1 || isKnown ? '' : html`<p class="notice">Until ${answerableAt === null ? 'its wait is over' : html`${when(answerableAt)} (${answerableAt.toISOString()})`} only “it happened” is taken: a late send could still follow a no.</p>`}
    ${mayAct(frame.session.role, 'operate') ? html`<form method="post" action="${frame.base}/inbox/runs/${runId}/actions/${action.id}" class="answer">
      ${csrfField(frame.session)}${returnTo(query)}<input type="hidden" name="attempt" value="${action.attempt}"><input type="hidden" name="evidence" value="${action.evidence.length}">
      <fieldset><legend>Your answer</legend>
      ${choice('happened', answers, 'It happened', isKnown ? 'Recorded as committed with the result that came late. The item goes on with it; nothing is sent.' : 'Recorded as committed with the result below. The item goes on with it; nothing is sent.')}
      ${isKnown ? '' : html`<label class="result">What the call returned, as JSON<textarea name="result" rows="3" spellcheck="false" placeholder="{ }"></textarea></label>`}
      ${choice('did_not', answers, 'It did not happen', 'Recorded as not applied. The item goes on and the call may be sent again under the same key; in a run that was cancelled or is being undone it is not.')}
      ${choice('abandon', answers, 'Nobody can find out', 'Recorded as unknown for ever. It is never sent again, its item fails, and it is listed as residue.')}
      </fieldset>
      <label>Note, for the record<input name="note" maxlength="1900" placeholder="how you know"></label>
      <button class="main">Answer</button>
    </form>` : readOnly()}`
}

const choice = (value: string, answers: readonly string[], name: string, effect: string): Html =>
  html`<label class="choice"><input type="radio" name="answer" value="${value}" required${answers.includes(value) ? '' : ' disabled'}><span><b>${name}</b><br>${effect}</span></label>`

function approval({ approval: asked, runId }: OpenApproval): Html {
  return html`<h2>May ${visible(asked.tool)} be called?</h2>
    <p>It is <b>${asked.effect}</b>${asked.irreversible ? html`, and <b>nothing takes it back</b>` : ''}${asked.isStaged ? ', held back to the end of the run' : ''}. It was not sent; the item waits and holds no worker. Asked ${when(asked.requestedAt)}, until ${asked.expiresAt.toISOString()}.</p>
    <h3>Arguments, as they will be sent</h3><pre>${visible(asked.argsText)}</pre>
    <p class="quiet">A yes is for exactly this call, used once:</p>
    <pre>npx pawl approve ${runId} ${asked.actionId} --digest ${asked.digest}
npx pawl reject ${runId} ${asked.actionId} --digest ${asked.digest}</pre>`
}

function question(frame: Frame, query: InboxQuery, { question: asked, runId }: OpenQuestion): Html {
  const { $schema: _dialect, ...schema } = asked.answerSchema
  return html`<h2>The agent asks</h2>
    <p class="break">${visible(asked.question)}</p>
    <p class="quiet small">Asked ${when(asked.askedAt)}. The item waits for the answer and holds no worker; the first answer stands.</p>
    <h3>What the answer may be, as JSON Schema</h3>${showValue(schema)}
    ${mayAct(frame.session.role, 'operate') ? html`<form method="post" action="${frame.base}/inbox/runs/${runId}/questions/${asked.id}" class="answer">
      ${csrfField(frame.session)}${returnTo(query)}
      <label class="result">Your answer, as JSON<textarea name="answer" rows="3" spellcheck="false" required placeholder="${schema['type'] === 'boolean' ? 'true' : '{ }'}"></textarea></label>
      <label>Note, for the record<input name="note" maxlength="1900" placeholder="optional"></label>
      <button class="main">Answer</button>
    </form>` : readOnly()}`
}

function blocked(frame: Frame, query: InboxQuery, entry: Blocked): Html {
  const texts = {
    resume: 'Let it go on: it runs again from its first line; what is committed is not repeated.',
    fail: 'End it as failed. What it did stays done.',
  } as const
  return html`<h2>${words(entry.reason)}</h2>
    <p>Item ${entry.itemSeq}${entry.itemKind === 'work' ? '' : ` (${entry.itemKind})`} waits: ${reasons[entry.reason]}. Attempts ${entry.attempts}, failures ${entry.failures}.</p>
    ${isEmptyDetail(entry.detail) ? '' : showValue(entry.detail)}
    ${entry.verbs.length === 0 ? html`<p class="quiet">It is answered where it was asked: in the command line or over HTTP.</p>`
    : mayAct(frame.session.role, 'operate') ? html`<form method="post" action="${frame.base}/inbox/runs/${entry.runId}/items/${entry.itemSeq}" class="answer">
      ${csrfField(frame.session)}${returnTo(query)}
      ${entry.reason === 'diverged' ? html`<label class="check"><input type="checkbox" name="newCalls" value="true"> What it asks for now are new calls</label>` : ''}
      <label>Note, for the record<input name="note" maxlength="1900" placeholder="optional"></label>
      <dl class="verbs">${entry.verbs.map((verb) => html`<div><dt><button name="verb" value="${verb}" class="${verb === 'fail' ? 'danger' : 'main'}">${verb === 'resume' ? 'Resume' : 'Fail'}</button></dt><dd>${texts[verb]}</dd></div>`)}</dl>
    </form>` : readOnly()}`
}

const returnTo = (query: InboxQuery): Html => (query.run === undefined ? html`` : html`<input type="hidden" name="run" value="${query.run}">`)
const readOnly = (): Html => html`<p class="quiet">Answering needs the role operate.</p>`
