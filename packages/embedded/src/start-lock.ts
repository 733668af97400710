/**
 * One start or stop of a folder at a time, between processes, and free again when its holder was killed.
 *
 * The files are `starting.1`, `starting.2`, …; the highest speaks. Taking it over means to create the next number,
 * which only one can; nothing is ever deleted to free it, since a deletion by a slow judge could free it twice.
 */
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomBytes } from 'node:crypto'
import { PawlError } from '@pawl/core'
import { isAlive, readBirth } from './processes.ts'

const WAIT_MS = 120_000

export async function withStartLock<T>(root: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_MS
  let held = tryTake(root)
  while (held === undefined) {
    if (Date.now() > deadline) {
      throw new PawlError('EMBEDDED_BUSY', `Another process has been starting or stopping the Postgres in ${root} for ${WAIT_MS / 1_000} s. Wait for it, or end it.`, 'tell', { folder: root })
    }
    await sleep(25)
    held = tryTake(root)
  }
  try {
    return await work()
  } finally {
    writeWhole(root, held, 'released', renameSync)
  }
}

function tryTake(root: string): string | undefined {
  const highest = findHighest(root)
  if (highest > 0 && isHeld(join(root, `starting.${highest}`))) return undefined
  const mine = join(root, `starting.${highest + 1}`)
  try {
    writeWhole(root, mine, `${process.pid} ${readBirth(process.pid)}`, linkSync)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
  if (findHighest(root) !== highest + 1) {
    rmSync(mine, { force: true }) // we judged an old number, and others have gone on
    return undefined
  }
  for (const number of listNumbers(root)) if (number <= highest) rmSync(join(root, `starting.${number}`), { force: true })
  return mine
}

function isHeld(path: string): boolean {
  try {
    const [pid = '', birth = ''] = readFileSync(path, 'utf8').split(' ')
    return pid !== 'released' && isAlive(Number(pid)) && readBirth(Number(pid)) === birth
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true // replaced while we looked: look again
    throw error
  }
}

/** A reader sees the whole content or no file. */
function writeWhole(root: string, target: string, content: string, show: (draft: string, target: string) => void): void {
  const draft = join(root, `draft.${process.pid}.${randomBytes(6).toString('hex')}`)
  writeFileSync(draft, content, { mode: 0o600 })
  try {
    show(draft, target)
  } finally {
    rmSync(draft, { force: true })
  }
}

function findHighest(root: string): number {
  return Math.max(0, ...listNumbers(root))
}

function listNumbers(root: string): number[] {
  return readdirSync(root).flatMap((name) => (/^starting\.\d+$/.test(name) ? [Number(name.slice(9))] : []))
}
