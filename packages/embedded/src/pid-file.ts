/**
 * Reads postmaster.pid, and takes it out of the way where Postgres itself would refuse for ever: cut off in a crash,
 * or naming a pid that now belongs to another process. Called under the start lock, after no server was found.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PawlError } from '@pawl/core'
import type { Log, Place } from './place.ts'
import { findServer, isAlive } from './processes.ts'

/** No system hands out a pid this high. */
const NOBODYS_PID = 2_147_483_646
const ORPHANS_WAIT_MS = 10_000

/** The port the running server wrote down (in a file that is whole), or the one it was last started with. */
export function readPort(place: Place): number | undefined {
  const lines = readLines(place)
  for (const text of [isWhole(lines) ? lines[3] : undefined, readText(place.port)]) {
    const port = Number(text?.trim())
    if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  }
  return undefined
}

export async function clearStalePidFile(place: Place, log: Log): Promise<void> {
  const path = join(place.data, 'postmaster.pid')
  const lines = readLines(place)
  if (lines === undefined) return
  const pid = Number(lines[0])
  // With its shared memory line the file still guards against left-over children: keep the line, give away the pid.
  if (Number.isInteger(pid) && pid > 0 && isWhole(lines)) {
    if (!isAlive(pid)) return // Postgres knows this case
    log(`postmaster.pid names pid ${pid}, which is not this server: recovering`)
    writeFileSync(path, [String(NOBODYS_PID), ...lines.slice(1)].join('\n'))
    return
  }
  log('postmaster.pid is cut off: recovering')
  await waitForOrphans(place)
  rmSync(path, { force: true })
}

/** Children of a killed postmaster end within a second or two; a new server beside them would ruin the data. */
async function waitForOrphans(place: Place): Promise<void> {
  const deadline = Date.now() + ORPHANS_WAIT_MS
  for (let { pids } = findServer(place); pids.length > 0; { pids } = findServer(place)) {
    if (Date.now() > deadline) {
      throw new PawlError('EMBEDDED_ORPHANS', `Processes of a killed Postgres still use ${place.data}: pids ${pids.join(', ')}. End them and start again.`, 'tell', { folder: place.asked, pids })
    }
    await sleep(50)
  }
}

/** Line seven, the shared memory, is written last but for the status. */
function isWhole(lines: string[] | undefined): lines is string[] {
  return lines !== undefined && lines.length > 7
}

function readLines(place: Place): string[] | undefined {
  return readText(join(place.data, 'postmaster.pid'))?.split('\n')
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
