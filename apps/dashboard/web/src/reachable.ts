/** Whether the last question was answered: pages keep what they show and say that it is old. */
import { useSyncExternalStore } from 'react'

let isReachable = true
const listeners = new Set<() => void>()

export function setReachable(now: boolean): void {
  if (now === isReachable) return
  isReachable = now
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useReachable = (): boolean => useSyncExternalStore(listen, () => isReachable)
