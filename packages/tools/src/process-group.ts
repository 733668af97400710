/**
 * A server's process, in a group of its own that does not outlive this process.
 *
 * `sh` leads the group and starts the server in it; a second `sh` reads a pipe nobody ever writes to. When this process ends, however it
 * ends, the kernel closes the pipe's other end and that reader kills the whole group, wrappers (`npx`) and grandchildren included. No
 * signal handler of ours could do that after SIGKILL, and Linux's parent-death signal reaches the direct child only. What the group cannot
 * reach: a process that makes a session of its own (`setsid`), and everything on Windows, where there is no `sh`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { PawlError } from '@pawl/core'
import type { Readable, Writable } from 'node:stream'

export interface GroupOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
}

export interface ProcessGroup {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the server ended or the group was killed, and everything it wrote was read. */
  readonly ended: Promise<void>
  readonly isAlive: () => boolean
  readonly kill: () => void
}

// fd 3: the pipe that ends with us; fd 4: the server's stdin, because a background job of sh would get /dev/null.
const leader = `exec 4<&0 </dev/null
( read -r _ <&3; kill -KILL -$$ ) >/dev/null 2>&1 4<&- &
"$@" <&4 4<&- 3<&- &
server=$!
exec 4<&- >/dev/null
wait "$server"`

type Watcher = (pid: number, isAlive: boolean) => void
const alive = new Set<number>()
const watchers = new Set<Watcher>()
let isWatchingExit = false

/** Told of every group that begins and ends, those alive included. A supervisor that frees this process's work ends them first. Returns how to stop listening. */
export function watchProcessGroups(watcher: Watcher): () => void {
  watchers.add(watcher)
  for (const pid of alive) watcher(pid, true)
  return () => watchers.delete(watcher)
}

/** Rejects when there is no such folder. A program that does not exist ends at once, and sh says so on stderr. */
export async function spawnGroup({ command, args, cwd, env }: GroupOptions): Promise<ProcessGroup> {
  if (process.platform === 'win32') throw new PawlError('MCP_PLATFORM', 'MCP servers over stdio need a POSIX system: their process group is what ends them with the worker. Use streamable HTTP.', 'crash')
  const child = spawn('/bin/sh', ['-c', leader, 'pawl-mcp', command, ...args], { detached: true, cwd, env, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  const pid = child.pid as number
  note(pid, true)
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      killGroup(pid)
      note(pid, false)
      // What it wrote last is still to be read; a process outside the group that holds the pipe is not waited for.
      setTimeout(resolve, 1_000).unref()
    })
    child.once('close', () => resolve())
  })
  letGo(child)
  return {
    pid, ended,
    stdin: child.stdin as Writable, stdout: child.stdout as Readable, stderr: child.stderr as Readable,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    kill: () => killGroup(pid),
  }
}

/** A program that only loaded a config must be able to end; a call in flight keeps it running by its own timer. */
function letGo(child: ChildProcess): void {
  child.unref()
  for (const stream of child.stdio) (stream as unknown as { unref?: () => void } | null)?.unref?.()
}

function note(pid: number, isAlive: boolean): void {
  if (isAlive) alive.add(pid)
  else alive.delete(pid)
  for (const watcher of watchers) watcher(pid, isAlive)
  if (isWatchingExit) return
  isWatchingExit = true
  process.on('exit', () => { for (const one of alive) killGroup(one) })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // the group is empty
  }
}
