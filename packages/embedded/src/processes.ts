/**
 * Which processes are this server's. The pid file alone cannot say: it may be cut off, or its pid may long be
 * somebody else's. Every process of the server carries its tag (the `cluster_name`) in its command line; so a server
 * that runs is found whatever its files say.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Place } from './place.ts'

export interface ServerProcesses {
  readonly postmaster: number | undefined
  /** The postmaster and what is left of its children. */
  readonly pids: readonly number[]
}

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

export function findServer(place: Place): ServerProcesses {
  // A server that somebody started by hand over the same data has no tag, but names the folder.
  const ours = listProcesses().filter(({ command }) => command.includes(place.tag) || (/postgres/.test(command) && command.includes(`-D ${place.data}`)))
  const pids = ours.map(({ pid }) => pid)
  // A child just forked still shows its parent's command line.
  const postmaster = ours.find(({ command, parent }) => command.includes(' -D ') && !pids.includes(parent))
  return { postmaster: postmaster?.pid, pids }
}

/** A process that has ended but was not yet collected by its parent counts as alive here; use it to refuse, not to adopt. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Tells a pid from its next bearer, where the system can say (Linux); elsewhere empty. */
export function readBirth(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '')
  } catch {
    return ''
  }
}

function listProcesses(): Seen[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,command='], { encoding: 'utf8', maxBuffer: 64e6 }).split('\n')
    return lines.flatMap((line) => {
      const found = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)
      return found === null ? [] : [{ pid: Number(found[1]), parent: Number(found[2]), command: found[3] ?? '' }]
    })
  }
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      if (!command.includes('postgres')) return []
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]), command }]
    } catch {
      return [] // ended while we looked
    }
  })
}
