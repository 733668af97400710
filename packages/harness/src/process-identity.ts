/**
 * Proof on Linux that another process of this very host is dead: same boot, same pid namespace, and its pid is gone or started at another time.
 * Without all of it there is no proof, and the lease decides.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { ProcessIdentity } from '@pawl/ledger'

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}

function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return null
  }
}

/** Field 22 of `/proc/<pid>/stat`; the name before it may hold blanks and brackets. */
function startOf(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
}

export function identifyProcess(pid: number = process.pid): ProcessIdentity {
  return { host: hostname(), bootId: read('/proc/sys/kernel/random/boot_id'), pidNamespace: pidNamespace(), pid, pidStartedAt: startOf(pid) }
}

export function isProvenDead(other: ProcessIdentity, self: ProcessIdentity): boolean {
  if (other.bootId === null || other.pidNamespace === null || other.pidStartedAt === null) return false
  if (other.host !== self.host || other.bootId !== self.bootId || other.pidNamespace !== self.pidNamespace) return false
  const started = startOf(other.pid)
  return started === null ? isGone(other.pid) : started !== other.pidStartedAt
}

/** What cannot be read may be hidden (`hidepid`), or this process may have no file left to open: only the kernel's "no such process" counts. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
