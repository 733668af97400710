/**
 * Lets the workers of one repository go one after the other, so that they do not lose compare-and-swap races and do not
 * meet in the worktree's index. It is a courtesy, not the proof: commits stay exactly-once without it (see `git-commit.ts`).
 * That is why it may be taken over boldly. A dead owner is recognised at once by pid and start time on the same machine and
 * pid namespace; any other owner by age. Within a process calls queue up in memory first.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { waitMs } from '@pawl/core'

/** Far longer than one commit takes. */
const oldMs = 20_000
const pollMs = 4

interface Owner {
  readonly token: string
  readonly machine: string
  readonly pid: number
  readonly startedAt: string
}

const queues = new Map<string, Promise<unknown>>()

/** Runs `work` while holding the lock file. Rejects when `signal` aborts before the lock is had. */
export async function withRepositoryLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve()
  const mine = before.then(async () => {
    const token = await acquire(path, signal)
    try {
      return await work()
    } finally {
      await release(path, token)
    }
  })
  const settled = mine.catch(() => {})
  queues.set(path, settled)
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path)
  })
  return mine
}

async function acquire(path: string, signal: AbortSignal): Promise<string> {
  const owner: Owner = { token: randomUUID(), machine: machine(), pid: process.pid, startedAt: startOf(process.pid) ?? '' }
  for (;;) {
    signal.throwIfAborted()
    if (await create(path, owner)) return owner.token
    if (await isAbandoned(path)) await setAside(path)
    else await waitMs(pollMs + Math.random() * pollMs, signal)
  }
}

async function create(path: string, owner: Owner): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.writeFile(JSON.stringify(owner))
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function release(path: string, token: string): Promise<void> {
  const owner = await readOwner(path)
  if (owner?.token === token) await rm(path, { force: true })
}

/** Renamed, not removed: of several waiters only one gets the old file out of the way. */
async function setAside(path: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  await rename(path, aside).catch(() => {})
  await rm(aside, { force: true })
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Owner
  } catch {
    return undefined
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const owner = await readOwner(path)
  if (owner?.machine === machine()) {
    const started = startOf(owner.pid)
    // Where there is no /proc a signal tells whether the process lives.
    if (started !== undefined) return owner.startedAt !== '' && started !== owner.startedAt
    if (process.platform === 'linux' || !isAlive(owner.pid)) return true
  }
  const age = await stat(path).then((file) => Date.now() - file.mtimeMs, () => 0)
  // A file without content is being written; its writer died only if it stays that way.
  return age > (owner ? oldMs : 500)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Start time of a process in ticks since boot: tells a reused pid from the owner. Undefined: no such process, or no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended, it only waits to be reaped.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

let cachedMachine: string | undefined
/** Pids mean something only within one boot and one pid namespace. */
function machine(): string {
  return (cachedMachine ??= [hostname(), readOr(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()), readOr(() => readlinkSync('/proc/self/ns/pid'))].join(' '))
}

function readOr(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
