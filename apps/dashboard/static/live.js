// Brings the parts of a page that are marked data-live up to date, so that nobody has to reload. A part somebody types in is left alone.
'use strict'
const everyMs = 3000
const offline = document.getElementById('offline')
let isAsking = false
// The answer to a form has no address that would show it again.
const isAddress = (performance.getEntriesByType('navigation')[0]?.responseStatus ?? 200) === 200

const isBusy = (part) => {
  if (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) return true
  if (part.dataset.live !== 'unless-typing') return false
  return [...part.querySelectorAll('input, textarea')].some((field) => (field.type === 'radio' || field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.value !== field.defaultValue))
}

const replace = (part, next) => {
  if (next === null || part.innerHTML === next.innerHTML || isBusy(part)) return
  const open = new Set([...part.querySelectorAll('details')].flatMap((details, i) => (details.open ? [i] : [])))
  const stops = (of) => [...of.querySelectorAll('a, button, summary, input')]
  const focused = stops(part).indexOf(document.activeElement)
  const fresh = document.importNode(next, true)
  fresh.querySelectorAll('details').forEach((details, i) => { if (open.has(i)) details.open = true })
  part.replaceWith(fresh)
  if (focused >= 0) stops(fresh)[focused]?.focus()
}

const refresh = async () => {
  if (!isAddress || document.hidden || isAsking || !document.querySelector('[data-live]') || String(getSelection()) !== '') return
  isAsking = true
  try {
    const response = await fetch(location.href, { headers: { 'x-pawl-live': '1', accept: 'text/html' }, signal: AbortSignal.timeout(10000) })
    if (response.status === 401) return location.reload()
    if (response.status >= 500) throw new Error(String(response.status))
    if (!response.ok) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) replace(part, page.getElementById(part.id))
    offline.hidden = true
  } catch {
    offline.hidden = false
  } finally {
    isAsking = false
  }
}

setInterval(refresh, everyMs)
document.addEventListener('visibilitychange', refresh)
