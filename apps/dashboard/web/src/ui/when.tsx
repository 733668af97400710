/** How long ago, with the exact time on it. All of a page share one clock. */
import { useSyncExternalStore } from 'react'
import { ago } from '../words.ts'

const everyMs = 1_000
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function tick(): void {
  now = Date.now()
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, everyMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time in milliseconds, every second. */
export const useNow = (): number => useSyncExternalStore(listen, () => now)

export function When({ at }: { readonly at: Date | null }) {
  const text = useSyncExternalStore(listen, () => (at === null ? '–' : ago(at, now)))
  if (at === null) return <span>–</span>
  return <time dateTime={at.toISOString()} title={at.toISOString()}>{text}</time>
}
