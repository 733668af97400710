/**
 * What a file tool knows about one call, kept beside the files: what was there when the call was first made, and a copy
 * of it. Written durably and once (by link, which fails if it is there) before the file is touched. It turns every change
 * into one with a precondition: a repeated or late call acts only if the file still is what the first call found, so
 * nothing newer is ever overwritten; and it is what undo restores.
 */
import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sha256 } from '@pawl/core'
import { undoFolder, type Place } from './jail.ts'

export const hashOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

export interface KeyedChange {
  /** Hash of what the first call found, null where there was no file. */
  readonly before: string | null
}

/** The call's record: made now, or as the first call of this key made it. */
export async function recordChange(root: string, key: string, content: Buffer | undefined): Promise<KeyedChange> {
  const folder = join(root, undoFolder)
  const path = join(folder, `${sha256(key)}.json`)
  const existing = await readChange(path)
  if (existing) return existing
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (content) await writeDurably(join(folder, hashOf(content)), content)
  const change: KeyedChange = { before: content ? hashOf(content) : null }
  await writeDurably(path, Buffer.from(JSON.stringify(change)))
  // Somebody with the same key may have been first: what is in the file counts.
  return (await readChange(path)) ?? change
}

async function readChange(path: string): Promise<KeyedChange | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : (JSON.parse(text) as KeyedChange)
}

/** What `recordChange` kept. */
export const readKept = (root: string, hash: string): Promise<Buffer> => readFile(join(root, undoFolder, hash))

/** A file that appears whole or not at all, and stays if it is there already. */
async function writeDurably(path: string, content: Buffer): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  try {
    await writeSynced(temporary, content, 0o600)
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  const folder = await open(dirname(path))
  await folder.sync()
  await folder.close()
}

async function writeSynced(path: string, content: Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Replaces the file in one step. `check` runs when nothing but the rename is left; if it throws or says `done` nothing is changed. */
export async function replaceAtomically(place: Place, content: Uint8Array, mode: number, check: () => Promise<'go' | 'done'>): Promise<void> {
  const temporary = `${place.path}.${randomUUID()}.tmp`
  try {
    await writeSynced(temporary, content, mode)
    if ((await check()) === 'go') await rename(temporary, place.path)
  } finally {
    await rm(temporary, { force: true })
  }
  await place.folder.sync()
}
