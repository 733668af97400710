/**
 * Text of the ledger, as text: what could mislead the eye (bidirectional overrides, zero-width and control characters) is shown by its
 * number. Values are shown as the ledger keeps them.
 */
import { encode } from '@pawl/core'
import { html } from 'hono/html'

export type Html = ReturnType<typeof html>

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115F\u1160\u3164\uFFA0\u2800]/gu
const isPlain = (character: string): boolean => character === '\n' || character === '\t'
const nameOf = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** For attributes, where there is no markup. */
export const visibleText = (text: string): string => text.replace(hidden, (character) => (isPlain(character) ? character : `⟨${nameOf(character)}⟩`))

export function visible(text: string): Html {
  const parts: (string | Html)[] = []
  let from = 0
  for (const match of text.matchAll(hidden)) {
    if (isPlain(match[0])) continue
    parts.push(text.slice(from, match.index), html`<mark class="hidden" title="a character that cannot be seen">${nameOf(match[0])}</mark>`)
    from = match.index + match[0].length
  }
  return html`${[...parts, text.slice(from)]}`
}

const longest = 64_000
const foldAfter = 1_200

/** Indented JSON; what JSON cannot say, in the ledger's own encoding. */
function textOf(value: unknown): string {
  const text = encode(value, { what: 'value' })
  return text.startsWith('~') ? text : JSON.stringify(value, null, 2)
}

export function showValue(value: unknown): Html {
  if (value === undefined) return html`<span class="quiet">none</span>`
  const text = textOf(value)
  const block = html`<pre class="value">${visible(text.slice(0, longest))}${text.length > longest ? html`<em>… and ${text.length - longest} more characters; the HTTP API has all of them</em>` : ''}</pre>`
  if (text.length <= foldAfter) return block
  return html`<details><summary>${text.length.toLocaleString('en')} characters</summary>${block}</details>`
}
