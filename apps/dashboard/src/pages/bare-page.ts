/** The few pages rendered here: those for whoever is not logged in, and refusals where the pages’ own code cannot tell them. No script and no style in the markup: the policy allows neither. */
import { html } from 'hono/html'
import { assets } from '../assets.ts'

export type Html = ReturnType<typeof html>

export function barePage(base: string, title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${title} · Pawl</title>
<link rel="icon" href="${base}${assets.href('icon.svg')}"><link rel="stylesheet" href="${base}${assets.href('style.css')}">
</head>
<body>
${body}
</body>
</html>`
}

/** A refusal with its way out. */
export const problemPage = (base: string, title: string, sentence: string, code: string): Html =>
  barePage(base, title, html`<main class="login"><h1>${title}</h1><p>${sentence}</p><p><a class="button" href="${base}/">To the runs</a> <code class="quiet">${code}</code></p></main>`)
