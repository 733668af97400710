/** The frame of every page. No script and no style in the markup: the policy allows neither. */
import { html } from 'hono/html'
import { assets } from '../assets.ts'
import type { Session } from '../auth/session.ts'
import { visible, visibleText, type Html } from './visible.ts'

export interface Frame {
  readonly base: string
  readonly session: Session
  /** What waits in the inbox: shown beside its link. Undefined: not known now. */
  readonly waiting: string | undefined
  readonly notice: string | undefined
}

type Place = 'runs' | 'inbox' | undefined

export function bareLayout(base: string, title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${visibleText(title)} · Pawl</title>
<link rel="icon" href="${base}${assets.href('icon.svg')}"><link rel="stylesheet" href="${base}${assets.href('style.css')}">
</head>
<body>
${body}
</body>
</html>`
}

/** @param here which of the links is the current one; parts with `data-live` are brought up to date every few seconds. */
export function layout(frame: Frame, title: string, here: Place, body: Html): Html {
  const { base, session, waiting, notice } = frame
  const link = (href: string, text: string, isHere: boolean, badge?: string) =>
    html`<a href="${base}${href}"${isHere ? html` aria-current="page"` : ''}>${text}${badge === undefined || badge === '0' ? '' : html`<span class="badge">${badge}</span>`}</a>`
  return bareLayout(base, title, html`<a class="skip" href="#main">To the content</a>
  <header class="top">
    <a class="brand" href="${base}/"><span class="mark" aria-hidden="true"></span>Pawl</a>
    <nav aria-label="Pages" id="nav" data-live>${link('/', 'Runs', here === 'runs')}${link('/inbox', 'Inbox', here === 'inbox', waiting)}${link('/queues/', 'Queues', false)}</nav>
    <form method="post" action="${base}/logout" class="who"><span>${session.name} <span class="quiet">${session.role}</span></span>${csrfField(session)}<button class="plain">Log out</button></form>
  </header>
  <main id="main">
    ${notice === undefined ? '' : html`<p class="notice" role="status">${notice}</p>`}
    ${body}
  </main>
  <p class="offline" id="offline" role="status" hidden>Out of reach; trying again…</p>
  <script src="${base}${assets.href('live.js')}" defer></script>`)
}

export const csrfField = (session: Pick<Session, 'csrf'>): Html => html`<input type="hidden" name="csrf" value="${session.csrf}">`

/** A refusal with its way out. */
export function problemPage(frame: Frame, title: string, sentence: string, code: string, back: { href: string; text: string }): Html {
  return layout(frame, title, undefined, html`<section class="problem"><h1>${title}</h1><p>${visible(sentence)}</p>
    <p><a class="button" href="${frame.base}${back.href}">${back.text}</a> <code class="quiet">${code}</code></p></section>`)
}
