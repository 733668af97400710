/**
 * Elapsed time that no clock can shorten: the largest of the monotonic clock (stands still while a machine is suspended),
 * the wall clock (may be set back) and the host's uptime. Used wherever too little elapsed time would let a send slip out late.
 * Where too much would end a wait early (the wall clock was set forward, this machine slept and the others did not), the monotonic clock alone counts.
 */
import { uptime } from 'node:os'

export interface Watch {
  elapsedMs(): number
  /** What has elapsed at the very least. */
  surelyElapsedMs(): number
}

interface Reading {
  readonly monotonic: number
  readonly wall: number
  readonly uptimeMs: number
}

/** Asking for the uptime reads a file: a tenth of a busy worker's time, when every watch asks. */
const freshMs = 2
let last: Reading | undefined

/** All three clocks. The uptime is asked for anew as soon as either other clock has moved; an older one, at a watch's start, only lengthens what has elapsed. */
function readClocks(): Reading {
  const monotonic = performance.now()
  const wall = Date.now()
  if (last === undefined || monotonic - last.monotonic > freshMs || Math.abs(wall - last.wall) > freshMs) last = { monotonic, wall, uptimeMs: uptime() * 1_000 }
  return { monotonic, wall, uptimeMs: last.uptimeMs }
}

export function startWatch(): Watch {
  const start = readClocks()
  return {
    elapsedMs() {
      const now = readClocks()
      return Math.max(now.monotonic - start.monotonic, now.wall - start.wall, now.uptimeMs - start.uptimeMs)
    },
    surelyElapsedMs: () => performance.now() - start.monotonic,
  }
}
