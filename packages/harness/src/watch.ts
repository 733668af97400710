/**
 * Elapsed time that no clock can shorten: the largest of the monotonic clock (stands still while a machine is suspended),
 * the wall clock (may be set back) and the host's uptime. Used wherever too little elapsed time would let a send slip out late.
 */
import { uptime } from 'node:os'

export interface Watch {
  elapsedMs(): number
}

export function startWatch(): Watch {
  const monotonic = performance.now()
  const wall = Date.now()
  const up = uptime()
  return {
    elapsedMs: () => Math.max(performance.now() - monotonic, Date.now() - wall, (uptime() - up) * 1_000),
  }
}
