/**
 * Starts, adopts or recovers the server of a folder, and makes the caller its one owner.
 *
 * Under the folder's start lock: a running server is adopted; otherwise a stale pid file is taken out of the way, the
 * cluster is made if there was none, and a server is launched. Right after a kill -9 the children of the old server
 * may still hold its memory: a launch is repeated for up to ten seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PawlError } from '@pawl/core'
import { locateBinaries, type Binaries } from './binaries.ts'
import { ensureCluster } from './cluster.ts'
import { claimServer, type Claim } from './owner.ts'
import { clearStalePidFile, readPort } from './pid-file.ts'
import { hasPlace, resolvePlace, type Log, type Place } from './place.ts'
import { findServer, isAlive } from './processes.ts'
import { launchServer, readLogTail, stopServer, type Running } from './server.ts'
import { withStartLock } from './start-lock.ts'

export interface Embedded {
  /** `postgres://…`, for postgres.js and node-postgres alike; holds the password. */
  readonly url: string
  /** Where the data lies: the folder asked for, or its fallback. */
  readonly folder: string
  /** True when the server was already running, left behind by an owner that was killed or had detached. */
  readonly adopted: boolean
  /** Gives up the ownership and stops the server. */
  release(): Promise<void>
  /** Gives up the ownership; the server runs on for the next owner. */
  detach(): Promise<void>
}

const LAUNCH_RETRY_MS = 10_000
/** Crash recovery replays the log first; that may take a while. */
const ANSWER_MS = 60_000
/** A killed owner's session needs a moment to end. */
const DEAD_OWNER_MS = 5_000

type Owned = Extract<Claim, { kind: 'owned' }> & { readonly adopted: boolean }

/**
 * @param options.folder the server's own folder; made if missing. One live owner at a time.
 * @throws PawlError `EMBEDDED_IN_USE` (names the owner's pid), `EMBEDDED_START_FAILED`, `EMBEDDED_DAMAGED`, `EMBEDDED_VERSION`, …
 */
export async function startEmbedded(options: { folder: string; log?: Log }): Promise<Embedded> {
  const log = options.log ?? ((): void => undefined)
  const place = resolvePlace(options.folder, log)
  const owned = await withStartLock(place.root, async () => becomeOwner(place, log))
  let closing: Promise<void> | undefined
  return {
    url: owned.url,
    folder: place.root,
    adopted: owned.adopted,
    release: async () => (closing ??= stopOwned(place, owned)),
    detach: async () => (closing ??= owned.owner.end()),
  }
}

/**
 * Stops the server of a folder that nobody owns any more.
 * @returns false when none was running.
 * @throws PawlError `EMBEDDED_IN_USE` while it has a live owner: stopping is that owner's to do.
 */
export async function stopEmbedded(folder: string): Promise<boolean> {
  if (!hasPlace(folder)) return false
  const log = (): void => undefined
  const place = resolvePlace(folder, log)
  return withStartLock(place.root, async () => {
    if (findServer(place).postmaster === undefined) return false
    const { owner } = await becomeOwner(place, log)
    await stopServer(place)
    await owner.end()
    return true
  })
}

async function stopOwned(place: Place, owned: Owned): Promise<void> {
  await withStartLock(place.root, async () => {
    owned.owner.expectEnd()
    await stopServer(place)
  })
  await owned.owner.end()
}

async function becomeOwner(place: Place, log: Log): Promise<Owned> {
  const binaries = locateBinaries(place, log)
  const since = new Map<string, number>()
  /** Has it been like this for longer than the limit? */
  const isLate = (state: string, limitMs: number): boolean => {
    if (!since.has(state)) since.set(state, Date.now())
    return Date.now() - (since.get(state) ?? 0) > limitMs
  }
  let running: Running | undefined
  let adopted = false
  for (;;) {
    const exit = running?.exit()
    if (running === undefined || exit !== undefined) {
      if (exit !== undefined && !adopted) {
        if (isLate('launching', LAUNCH_RETRY_MS)) throw startFailed(place, exit)
        await sleep(150)
      }
      adopted = findServer(place).postmaster !== undefined
      running = adopted ? adopt(place) : await launch(place, binaries, log)
    }
    const claim = await claimServer(place, running.port(), log)
    if (claim.kind === 'owned') {
      if (running.exit() === undefined) return { ...claim, adopted }
      await claim.owner.end()
    } else if (claim.kind === 'held') {
      if (isLate('held', DEAD_OWNER_MS) || (claim.pid !== undefined && isAlive(claim.pid))) throw inUse(place, claim.pid)
    } else if (isLate('silent', ANSWER_MS)) {
      throw startFailed(place, claim.reason)
    }
    await sleep(20)
  }
}

function adopt(place: Place): Running {
  return {
    port: () => readPort(place),
    exit: () => (findServer(place).postmaster === undefined ? 'it ended' : undefined),
  }
}

async function launch(place: Place, binaries: Binaries, log: Log): Promise<Running> {
  await clearStalePidFile(place, log)
  await ensureCluster(place, binaries, log)
  return launchServer(place, binaries)
}

function inUse(place: Place, pid: number | undefined): PawlError {
  const who = pid === undefined ? 'another process' : `process ${pid}`
  return new PawlError(
    'EMBEDDED_IN_USE',
    `The Postgres in ${place.asked} is in use by ${who}. Stop that one (kill ${pid ?? '<pid>'}), name another folder with PAWL_DATA_DIR, or connect to it with DATABASE_URL.`,
    'tell',
    { folder: place.asked, ...(pid === undefined ? {} : { pid }) },
  )
}

function startFailed(place: Place, reason: string): PawlError {
  const words = readLogTail(place)
  return new PawlError('EMBEDDED_START_FAILED', `The Postgres in ${place.asked} did not start: ${reason}. ${words} The whole log is ${place.log}; or set DATABASE_URL to a Postgres you have.`, 'tell', { folder: place.asked, log: place.log })
}
