/** Runs in the page before its own code: notes long tasks, and what the page shows as done, with the time it showed it. */
export function watchPage() {
  const watch = { tasks: [], bar: [], picture: [], pictureAt: undefined }
  globalThis.pawlWatch = watch
  new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) watch.tasks.push(duration) }).observe({ type: 'longtask', buffered: true })
  const doneIn = (text) => Number((/([\d,]+) done/.exec(text ?? '')?.[1] ?? '').replaceAll(',', ''))
  const note = (list, text) => {
    const done = doneIn(text)
    if (done > 0 && done !== list.at(-1)?.done) list.push({ at: Date.now(), done })
  }
  const look = () => {
    const slider = document.querySelector('[role="slider"]')
    if (slider !== null) watch.pictureAt ??= performance.now()
    note(watch.bar, document.querySelector('main .bar')?.getAttribute('aria-label'))
    note(watch.picture, slider?.getAttribute('aria-valuetext'))
  }
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-label', 'aria-valuetext'] })
}
